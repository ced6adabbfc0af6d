"""Checkpoints: all that an adaptation holds, so that another process continues it to the bit."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from tent.artifacts.tensor_file import read_tensor_file, write_tensor_file
from tent.engine.execution import Execution
from tent.engine.mode import Moments
from tent.engine.setup import Counts, Setup
from tent.engine.state import State

FORMAT = "tent-checkpoint-1"
PARAM, MEAN, VAR, MEMORY, PREPARED, OPTIMIZER = "param:", "mean:", "var:", "tensor:", "prepared:", "optimizer:"


@dataclass(frozen=True)
class Checkpoint:
    """Parameters, memory, statistics, optimizer and counts of an adaptation, tied to its source model and choices."""

    tensors: Mapping[str, Tensor]
    source: str  # the fingerprint of the model
    about: Mapping[str, Any]  # numbers and words, as JSON holds them

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file, beside and then renamed; the same checkpoint gives the same bytes."""
        about = json.dumps(self.about)
        write_tensor_file(path, FORMAT, self.tensors, {"source": self.source, "about": about})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Checkpoint":
        """Read a checkpoint; a truncated, damaged or foreign file, or a pickle, is refused."""
        tensors, words = read_tensor_file(path, FORMAT, "checkpoint")
        return Checkpoint(tensors, words["source"], json.loads(words["about"]))

    def require_source(self, source: str) -> None:
        """Refuse a model, by its fingerprint, that the checkpoint was not made on."""
        if self.source != source:
            raise ValueError(
                f"the checkpoint was made on another model ({self.source[:12]}) than this ({source[:12]}); "
                "adapt the model, with the weights, that it was made on"
            )

    def require_choices(self, choices: Mapping[str, str]) -> None:
        """Refuse an adaptation of other choices, which would not continue what was begun."""
        for name, ours in choices.items():
            if (theirs := self.about["choices"].get(name)) != ours:
                raise ValueError(
                    f"the checkpoint was made with {name} {theirs}, and this is {ours}; call adapt() with the same, "
                    "or take over what has moved alone: adapted.delta()"
                )


def describe(state: State, **others: object) -> dict[str, str]:
    """Return the choices that decide how an adaptation goes on, in words."""
    optimizer, device = state.optimizer, next(iter(state.model.parameters()), torch.empty(0)).device.type
    made = f"{type(optimizer).__name__}({optimizer.defaults})" if optimizer is not None else None
    words = {**others, "stats": state.setup.stats, "optimizer": made, "device": device}
    return {name: re.sub(r" at 0x[0-9a-f]+", "", str(value)) for name, value in words.items()}


def capture(state: State, choices: Mapping[str, str]) -> Checkpoint:
    """Return copies of all that a state holds."""
    prepared, execution = state.setup.prepared, state.setup.execution
    tensors = {PARAM + name: param for name, param in state.params.items()}
    for name, moments in state.moments.items():
        tensors |= {MEAN + name: moments.mean, VAR + name: moments.var}
    tensors |= {PREPARED + name: tensor for name, tensor in (prepared or {}).items()}
    kept = {name: (prepared or {}).get(name) is tensor for name, tensor in state.tensors.items()}
    tensors |= {MEMORY + name: state.tensors[name] for name, as_prepared in kept.items() if not as_prepared}
    optimizer = _pack_optimizer(state.optimizer, tensors) if state.optimizer is not None else None
    tensors = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    about = {
        "choices": dict(choices),
        "optimizer": optimizer,
        "moments": {name: moments.values for name, moments in state.moments.items()},
        "memory": kept,  # by name, and whether it is what was prepared
        "prepared": None if prepared is None else list(prepared),
        "numbers": {name: getattr(state, name) for name in ("loss", "step", "scale", "gradients")},
        "counts": asdict(state.counts),
        "lean": [execution.images_last, execution.buffers is not None],
        "strides": {name: tensor.stride() for name, tensor in tensors.items() if not tensor.is_contiguous()},
    }
    return Checkpoint(tensors, state.setup.source.fingerprint(), json.loads(json.dumps(about)))


def revive(checkpoint: Checkpoint, setup: Setup) -> State:
    """Return a state that goes on where the checkpoint was taken; nothing is changed if it does not fit."""
    about, device = checkpoint.about, next(iter(setup.source.model.parameters()), torch.empty(0)).device
    tensors = {name: _place(tensor, about["strides"].get(name), device) for name, tensor in checkpoint.tensors.items()}
    names = about["prepared"]
    prepared = None if names is None else {name: tensors[PREPARED + name] for name in names}
    state = State.begin(replace(setup, prepared=prepared, execution=_resume(setup.execution, *about["lean"])))
    state.counts = Counts(**about["counts"])
    ours, theirs = set(state.params), {name.removeprefix(PARAM) for name in tensors if name.startswith(PARAM)}
    if odd := sorted(ours ^ theirs) or [n for n in state.params if state.params[n].shape != tensors[PARAM + n].shape]:
        raise ValueError(f"{odd[0]} is moved by only one of the checkpoint and this adaptation; pass the same select")
    with torch.no_grad():
        for name, param in state.params.items():
            param.copy_(tensors[PARAM + name])
    state.moments = {n: Moments(tensors[MEAN + n], tensors[VAR + n], seen) for n, seen in about["moments"].items()}
    state.tensors = {n: (prepared or {})[n] if same else tensors[MEMORY + n] for n, same in about["memory"].items()}
    if state.optimizer is not None:
        _unpack_optimizer(state.optimizer, about["optimizer"], tensors)
    for name, value in about["numbers"].items():
        setattr(state, name, value)
    return state


def _resume(execution: Execution, images_last: bool, lean: bool) -> Execution:
    # the lean path may have stepped aside since
    if (images_last and not execution.images_last) or (lean and execution.buffers is None):
        raise ValueError("the checkpoint was made with lean=True, whose numbers are rounded otherwise; pass the same")
    return replace(execution, images_last=images_last, buffers=execution.buffers if lean else None)


def _pack_optimizer(optimizer: Optimizer, tensors: dict[str, Tensor]) -> dict[str, Any]:
    if any(isinstance(value, Optimizer) for value in vars(optimizer).values()):
        raise ValueError(f"{type(optimizer).__name__} holds another optimizer, which a checkpoint cannot; use a delta")
    places = {id(param): str(number) for number, param in enumerate(_params(optimizer))}
    odd = [key for key in optimizer.state if id(key) not in places]
    if odd:
        raise ValueError(f"{type(optimizer).__name__} keeps {odd[0]!r:.40} beside its parameters' state; use a delta")
    state = {places[id(param)]: own for param, own in optimizer.state.items()}
    groups = [{name: value for name, value in group.items() if name != "params"} for group in optimizer.param_groups]
    packed: dict[str, Any] = _pack({"state": state, "groups": groups}, OPTIMIZER, tensors)
    return packed


def _unpack_optimizer(optimizer: Optimizer, packed: Any, tensors: Mapping[str, Tensor]) -> None:
    found, params = _unpack(packed, tensors), list(_params(optimizer))
    optimizer.state.clear()
    for number, own in found["state"].items():
        optimizer.state[params[int(number)]] = own
    for group, options in zip(optimizer.param_groups, found["groups"], strict=True):
        group.update(options)


def _params(optimizer: Optimizer) -> Iterator[Tensor]:
    return (param for group in optimizer.param_groups for param in group["params"])


def _pack(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    # values as JSON holds them: tensors by their names among the tensors, tuples and dicts marked
    if isinstance(value, Tensor):
        tensors[name] = value
        return {"tensor": name, "host": value.device.type == "cpu"}
    if isinstance(value, Mapping):
        return {"dict": {key: _pack(item, f"{name}.{key}", tensors) for key, item in value.items()}}
    if isinstance(value, tuple | list):
        items = [_pack(item, f"{name}.{number}", tensors) for number, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"{name} is a {type(value).__name__}, which a checkpoint cannot hold; use a delta")


def _unpack(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        tensor = tensors[value["tensor"]]
        return tensor.cpu() if value["host"] else tensor  # a count of steps is kept beside the device
    if "tuple" in value:
        return tuple(_unpack(item, tensors) for item in value["tuple"])
    return {key: _unpack(item, tensors) for key, item in value["dict"].items()}


def _place(tensor: Tensor, stride: list[int] | None, device: torch.device) -> Tensor:
    # in memory of its own, laid out as it was: fused optimizers walk through a parameter and its moments side by side
    if stride is None:
        return tensor.to(device, copy=True)
    return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype, device=device).copy_(tensor)
