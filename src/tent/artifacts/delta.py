"""Deltas: what an adaptation moved, as a small part of a state_dict, tied to its source model."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from tent.artifacts.tensor_file import read_tensor_file, write_tensor_file
from tent.engine.mode import Moments
from tent.engine.source_model import fingerprint
from tent.engine.state import State

FORMAT = "tent-delta-2"
MEMORY, PREPARED = "tensors:", "prepared:"  # before the names of what a method remembers, and of what it prepared
AGAIN = "it was saved with another method, select or stats; call adapt() with the same"


@dataclass(frozen=True)
class Delta:
    """What moved, under its names in the model's state_dict, and the fingerprint of the model it belongs to."""

    tensors: Mapping[str, Tensor]
    source: str
    about: Mapping[str, str] = field(default_factory=dict)  # the method, and whatever else a reader may want to know

    def __post_init__(self) -> None:
        for name, tensor in self.tensors.items():
            if not tensor.isfinite().all():
                raise ValueError(f"the delta's {name} is not finite; it cannot be used")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file, beside and then renamed; the same delta gives the same bytes."""
        write_tensor_file(path, FORMAT, self.tensors, {**self.about, "source": self.source})

    def require_source(self, model: nn.Module) -> None:
        """Refuse a model that the delta was not made on."""
        if self.source != (theirs := fingerprint(model)):
            raise ValueError(
                f"the delta was made on another model ({self.source[:12]}) than this {type(model).__name__} "
                f"({theirs[:12]}); adapt the model, with the weights, that it was made on"
            )

    def require_method(self, method: str) -> None:
        """Refuse what another method has remembered; parameters and statistics are any method's."""
        made_by = self.about.get("method", method)
        if made_by != method and any(name.startswith((MEMORY, PREPARED)) for name in self.tensors):
            raise ValueError(f"the delta holds what {made_by} remembers, and this is {method}; {AGAIN}")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Delta":
        """Read a delta; a truncated, damaged or foreign file, or a pickle, is refused."""
        tensors, about = read_tensor_file(path, FORMAT, "delta")
        return Delta(tensors, about.pop("source"), about)


def pack(state: State) -> dict[str, Tensor]:
    """Return copies of all that a state holds; parameters and statistics have their names in the model's state_dict."""
    tensors = {name: param.detach().clone() for name, param in state.params.items()}
    for name, moments in state.moments.items():
        tensors[_join(name, "running_mean")] = moments.mean.clone()
        tensors[_join(name, "running_var")] = moments.var.clone()
    prepared = state.setup.prepared or {}
    tensors |= {PREPARED + name: tensor.detach().clone() for name, tensor in prepared.items()}
    memory = {name: tensor for name, tensor in state.tensors.items() if prepared.get(name) is not tensor}
    return tensors | {MEMORY + name: tensor.detach().clone() for name, tensor in memory.items()}


def unpack(tensors: Mapping[str, Tensor], state: State, strict: bool = True) -> tuple[State, list[str], list[str]]:
    """Return a fresh state that takes the tensors over, the names it misses, and those it has no use for.

    A parameter or statistic that does not fit is refused, before anything is changed; so are, if strict, names that
    are none of its parameters, statistics or memory.
    """
    names = {_join(name, own): name for name in _remembering(state) for own in ("running_mean", "running_var")}
    device = next(iter(state.model.parameters()), torch.empty(0)).device
    prepared = {name.removeprefix(PREPARED): t.to(device) for name, t in tensors.items() if name.startswith(PREPARED)}
    setup = replace(state.setup, prepared={**(state.setup.prepared or {}), **prepared}) if prepared else state.setup
    fresh = State.begin(setup, state.counts)
    unexpected = [
        name for name in tensors if not (name in fresh.params or name in names or name.startswith((MEMORY, PREPARED)))
    ]
    if unexpected and strict:
        raise ValueError(f"{unexpected[0]} is not what this adaptation moves; {AGAIN}")
    layers = dict.fromkeys(layer for name, layer in names.items() if name in tensors)
    moments = {layer: _moments(layer, tensors, state) for layer in layers}
    for name, param in fresh.params.items():
        if name in tensors and tensors[name].shape != param.shape:
            raise ValueError(f"{name} has shape {tuple(tensors[name].shape)}, not {tuple(param.shape)}")
    with torch.no_grad():
        for name, param in fresh.params.items():
            if name in tensors:
                param.copy_(tensors[name])
    fresh.moments = {name: Moments(m.mean.to(device), m.var.to(device), 0) for name, m in moments.items()}
    fresh.tensors |= {name.removeprefix(MEMORY): t.to(device) for name, t in tensors.items() if name.startswith(MEMORY)}
    return fresh, [name for name in fresh.params if name not in tensors], unexpected


def _remembering(state: State) -> list[str]:
    return list(state.setup.source.norms) if state.setup.stats.remembers else []


def _moments(layer: str, tensors: Mapping[str, Tensor], state: State) -> Moments:
    mean, var = tensors.get(_join(layer, "running_mean")), tensors.get(_join(layer, "running_var"))
    if mean is None or var is None:
        alone, lacks = ("running_var", "running_mean") if mean is None else ("running_mean", "running_var")
        raise ValueError(f"{_join(layer, alone)} comes without its {lacks}; {AGAIN}")
    shape = state.setup.source.norms[layer].running_mean.shape
    for name, tensor in (("running_mean", mean), ("running_var", var)):
        if tensor.shape != shape or not tensor.is_floating_point():
            seen = f"{tensor.dtype} of shape {tuple(tensor.shape)}".removeprefix("torch.")
            raise ValueError(f"{_join(layer, name)} is {seen}, not float of shape {tuple(shape)}; {AGAIN}")
    if (var < 0).any():
        raise ValueError(f"{_join(layer, 'running_var')} is negative, which no variance is; the delta cannot be used")
    return Moments(mean.clone(), var.clone(), 0)


def _join(layer: str, own: str) -> str:
    return f"{layer}.{own}" if layer else own
