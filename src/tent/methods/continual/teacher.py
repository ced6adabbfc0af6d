"""A teacher: a slow average of what moves, in a state's tensors."""

from torch import Tensor

from tent.method import State


def start_teacher(state: State) -> None:
    """Begin the teacher at the parameters of now."""
    state.tensors.update({f"teacher {name}": param.clone() for name, param in state.params.items()})


def teacher(state: State) -> dict[str, Tensor]:
    """Return the teacher's parameters by name."""
    return {name: state.tensors[f"teacher {name}"] for name in state.params}


def follow(state: State, rate: float) -> None:
    """Let the teacher go a part of the way to the parameters of now."""
    for name, slow in teacher(state).items():
        state.tensors[f"teacher {name}"] = slow.lerp(state.params[name].detach(), rate)
