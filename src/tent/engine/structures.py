"""What goes into a model and what comes out: values of any shape, cut loose from graphs, and the logits among them."""

import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any, TypeAlias

from torch import Tensor

Inputs: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
Picker: TypeAlias = Callable[[Any], Tensor]


def map_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return the same structure, of the same types, with every tensor in it changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, MutableMapping):  # dicts, and a transformers ModelOutput or BatchEncoding
        fresh = copy.copy(value)
        for key, item in value.items():
            fresh[key] = map_tensors(item, change)
        return fresh
    if isinstance(value, tuple):
        items = [map_tensors(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, list):
        return [map_tensors(item, change) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        return dataclasses.replace(value, **{name: map_tensors(getattr(value, name), change) for name in fields})
    return value


def list_tensors(value: Any) -> list[Tensor]:
    """Return every tensor in a value, in order."""
    tensors: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        tensors.append(tensor)
        return tensor

    map_tensors(value, note)
    return tensors


def detach_inputs(inputs: Inputs) -> Inputs:
    """Return the inputs without their history, fit for autograd also when they were made in inference mode."""
    return map_tensors(inputs, lambda t: t.clone() if t.is_inference() else t.detach())  # type: ignore[no-any-return]


def detach_output(output: Any, moving: Iterable[Tensor] = ()) -> Any:
    """Return the model's answer as its own type, cut loose from its graph, and from the memory of what moves."""
    held = {tensor.untyped_storage().data_ptr() for tensor in moving}
    return map_tensors(
        output, lambda t: t.detach().clone() if held and t.untyped_storage().data_ptr() in held else t.detach()
    )


def all_finite(inputs: Inputs) -> bool:
    """Tell whether the numbers are numbers; masks may hold infinities, and do."""
    args, kwargs = inputs
    values = list_tensors((args, {name: value for name, value in kwargs.items() if not name.endswith("mask")}))
    return all(bool(t.isfinite().all()) for t in values if t.is_floating_point() or t.is_complex())


def is_empty(inputs: Inputs) -> bool:
    """Tell whether there is no sample in the batch."""
    found = list_tensors(inputs)
    return bool(found) and all(t.dim() > 0 and len(t) == 0 for t in found)


def find_logits(output: Any, inputs: Inputs, pick: Picker | None = None) -> Tensor:
    """Pick the logits, classes on axis 1, out of what a model returns: by the caller's own way, if there is one."""
    if pick is not None:
        return pick(output)
    found = output
    if isinstance(output, Mapping):
        found = next((output[key] for key in ("logits", "out") if key in output), None)
    elif isinstance(output, tuple | list):
        found = output[0] if output else None
    elif not isinstance(output, Tensor):
        found = getattr(output, "logits", None)
    if not isinstance(found, Tensor) or not found.is_floating_point() or found.dim() < 2:
        raise ValueError(f"no logits found in {_describe(output)}; name them: adapt(model, logits=lambda output: ...)")
    if found.dim() == 3 and not isinstance(output, Tensor | tuple | list) and hasattr(output, "to_tuple"):
        return _tokens(found, inputs[1].get("attention_mask"))
    return found


def _tokens(logits: Tensor, mask: Any) -> Tensor:
    # transformers puts a token's classes last; padding is no prediction
    if isinstance(mask, Tensor) and mask.shape == logits.shape[:2]:
        return logits[mask.bool()]  # (tokens, classes)
    return logits.movedim(-1, 1)


def _describe(output: Any) -> str:
    if isinstance(output, Tensor):
        return f"a {output.dtype} tensor of shape {tuple(output.shape)}".replace("torch.", "")
    if isinstance(output, Mapping):
        return f"a {type(output).__name__} with the keys {', '.join(map(str, output)) or 'none'}"
    return f"a {type(output).__name__}"


def replace_logits(output: Any, inputs: Inputs, old: Tensor, new: Tensor) -> Any:
    """Return an output of the same type, with new logits in the place that the old ones were found in."""
    new = new.to(old.dtype)
    held = list_tensors(output)
    if any(tensor is old for tensor in held):
        return map_tensors(output, lambda tensor: new if tensor is old else tensor)
    raw = getattr(output, "logits", None)  # a token's classes, which transformers puts last
    if isinstance(raw, Tensor) and raw.dim() == 3 and hasattr(output, "to_tuple"):
        mask = inputs[1].get("attention_mask")
        if new.dim() == 2 and isinstance(mask, Tensor):
            tokens = raw.detach().clone()
            tokens[mask.bool()] = new
        else:
            tokens = new.movedim(1, -1)
        return map_tensors(output, lambda tensor: tokens if tensor is raw else tensor)
    raise ValueError(
        f"the logits are not one of the tensors in {_describe(output)}, but computed from them by logits=..., "
        "so that others cannot be put in their place"
    )


def count_samples(inputs: Inputs) -> int:
    """Return the number of samples in a batch: the length of its first tensor."""
    return next((len(tensor) for tensor in list_tensors(inputs) if tensor.dim()), 1)


def call_inputs(inputs: Any) -> Inputs:
    """Return what a model is called with, given a tensor, a tuple of arguments or a dict of keyword arguments."""
    if isinstance(inputs, Mapping):
        return (), {str(key): value for key, value in inputs.items()}
    return (tuple(inputs), {}) if isinstance(inputs, tuple | list) else ((inputs,), {})


def batch_inputs(batch: Any) -> Inputs:
    """Return the inputs in one batch of a loader: x, (x, y), ((x1, x2), y) or a dict; labels are dropped."""
    if isinstance(batch, Mapping):
        return (), {str(key): value for key, value in batch.items() if key not in ("labels", "label")}
    if isinstance(batch, tuple | list):
        if not batch:
            raise ValueError("a batch is an empty tuple; bring x, (x, y) or a dict of inputs")
        return call_inputs(batch[0])
    return (batch,), {}
