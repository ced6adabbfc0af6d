"""What an adaptation is made with: the choices that stay the same while it runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor
from torch.optim import Optimizer

from tent.engine.execution import Execution
from tent.engine.source_model import SourceModel
from tent.engine.structures import Picker
from tent.norm import Stats

# torch's own optimizers take pairs of a name and a parameter from 2.6 on
TAKES_NAMES = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 6)

if TYPE_CHECKING:
    from tent.engine.state import State


class Startable(Protocol):
    """What a state needs of a method: to be told when it begins."""

    def start(self, state: "State") -> None:
        """Add what the method needs to the state's parameters and tensors."""


@dataclass
class Setup:
    """What an adaptation was made with; it does not change, but for what `prepare` adds."""

    source: SourceModel
    method: Startable
    names: Sequence[str]  # of the source's parameters that move
    stats: Stats
    make_optimizer: Callable[[Mapping[str, Tensor]], Optimizer]
    execution: Execution = field(default_factory=Execution)
    pick: Picker | None = None
    prepared: dict[str, Tensor] | None = None  # what `prepare` left in a state's tensors; resets keep it


@dataclass
class Counts:
    """What an adaptation has done since it was made; resets do not set it back."""

    forwards: int = 0  # samples that went forward through the model
    backwards: int = 0  # samples that a gradient went back through
    updates: int = 0  # batches that were updated on
    skipped: int = 0  # batches that were answered and not updated on
    resets: int = 0


def optimizer_maker(
    factory: Any, lr: float | None, alter: Callable[[Any], Any] | None = None
) -> Callable[[Mapping[str, Tensor]], Optimizer]:
    """Return the function that makes the optimizer of some named parameters.

    Args:
        factory: an optimizer's class, which gets the parameters; or a function, which gets them with their names.
        lr: handed to the factory, if given.
        alter: what becomes of the factory, such as its fused form.
    """
    if isinstance(factory, Optimizer) or not callable(factory):
        raise TypeError(f"optimizer must be a class or a function of the parameters, got {type(factory).__name__}")
    named = not _is_class(factory)
    make = factory if lr is None else partial(factory, lr=lr)
    make = alter(make) if alter else make
    return partial(_make_optimizer, make, named)


def _make_optimizer(make: Any, named: bool, params: Mapping[str, Tensor]) -> Optimizer:
    pairs, plain = list(params.items()), list(params.values())
    try:
        optimizer: Optimizer = make(pairs if named else plain)
    except TypeError:
        if not named or TAKES_NAMES:
            raise
        optimizer = make(plain)  # a function that hands its pairs on to an optimizer that knows no names
    return optimizer


def _is_class(factory: Any) -> bool:
    while isinstance(factory, partial):
        factory = factory.func
    return isinstance(factory, type) and issubclass(factory, Optimizer)


def copy_optimizer(optimizer: Optimizer) -> tuple[dict[Any, Any], list[dict[str, Any]]]:
    """Return an optimizer's moments and options, as its own state_dict would, in a tenth of the time."""
    state = {
        param: {name: value.clone() if isinstance(value, Tensor) else value for name, value in own.items()}
        for param, own in optimizer.state.items()
    }
    return state, [
        {name: value for name, value in group.items() if name != "params"} for group in optimizer.param_groups
    ]


def restore_optimizer(optimizer: Optimizer, state: dict[Any, Any], groups: list[dict[str, Any]]) -> None:
    """Put moments and options back."""
    optimizer.state.clear()
    optimizer.state.update(state)
    for group, options in zip(optimizer.param_groups, groups, strict=True):
        group.update(options)
