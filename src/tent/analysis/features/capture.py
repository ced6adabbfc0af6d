"""Features of layers while a model answers, without a trace on it."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor, nn

from tent.analysis.observation import Floats
from tent.engine.structures import list_tensors
from tent.select import is_norm, norm_affine

CHANNELS_FIRST = (
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, nn.GroupNorm),
    *(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.Conv1d, nn.Conv2d, nn.Conv3d),
)


class Features(dict[str, Floats]):
    """Of each layer, by its name, the mean of every channel over each image of the last pass: (n, channels)."""


@contextmanager
def capture(model: nn.Module, layers: Sequence[str]) -> Iterator[Features]:
    """Note the features of these layers in every pass inside the `with`; the hooks for it go with it.

    Args:
        model: the source model; an adaptation of it runs the same layers, so its passes are seen too.
    """
    modules, found = find_layers(model, layers), Features()
    handles = []
    try:
        for name, module in modules.items():
            handles.append(module.register_forward_hook(partial(_note, found, name)))
        yield found
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def count_passes(model: nn.Module, layers: Sequence[str]) -> Iterator[Counter[str]]:
    """Count how often each of these layers is run inside the `with`."""
    count: Counter[str] = Counter()
    handles = []
    try:
        for name, module in find_layers(model, layers).items():
            handles.append(module.register_forward_hook(partial(_count, count, name)))
        yield count
    finally:
        for handle in handles:
            handle.remove()


def find_layers(model: nn.Module, layers: Sequence[str]) -> dict[str, nn.Module]:
    """Return the modules of these names, or say which is none and what is near it."""
    known = {name: module for name, module in model.named_modules() if name}
    for name in layers:
        if name not in known:
            near = (get_close_matches(name, known, 1, 0) or ["none"])[0]
            raise ValueError(f"layers: {type(model).__name__} has no layer {name!r}; the nearest is {near!r}")
    return {name: known[name] for name in layers}


def list_norms(model: nn.Module) -> list[str]:
    """Return the names of the norm layers with γ and β."""
    return list(dict.fromkeys(name.rpartition(".")[0] for name in norm_affine(model)))


def choose_layers(model: nn.Module, count: int = 9, among: Collection[str] | None = None) -> list[str]:
    """Return names of norm layers, whose output Tent modulates, evenly spaced from the first to the last.

    Args:
        among: the layers that are run when the model answers; all unless given.
    """
    if count < 1:
        raise ValueError(f"layers {count}: give 1 or more, or names")
    norms = [name for name in list_norms(model) if among is None or name in among]
    if not norms:
        own = "" if among is None else " that is run when it answers"
        raise ValueError(f"{type(model).__name__} has no norm layer with γ and β{own}; name layers, such as fc")
    places = np.linspace(0, len(norms) - 1, min(count, len(norms))).round().astype(int)
    return [norms[place] for place in places]


def _note(found: Features, name: str, module: nn.Module, inputs: Any, output: Any) -> None:
    """Reduce at once: what follows may write over the output."""
    tensors = list_tensors(output)
    if not tensors or tensors[0].dim() < 2:
        raise ValueError(f"layer {name!r} returns no features of images, (n, channels, ...); name another")
    found[name] = channel_means(tensors[0], module).cpu().numpy()


def _count(count: Counter[str], name: str, module: nn.Module, inputs: Any, output: Any) -> None:
    count[name] += 1


def channel_means(output: Tensor, module: nn.Module | None = None) -> Tensor:
    """Return the mean of each channel over an image; the layer that it comes from tells which axis channels are on."""
    x = output.detach().double()
    channels = _channel_axis(x, module) % x.dim()
    places = tuple(axis for axis in range(1, x.dim()) if axis != channels)
    return x.mean(places) if places else x


def _channel_axis(x: Tensor, module: nn.Module | None) -> int:
    """Return 1 for maps, (n, c, h, w), and -1 for tokens, (n, tokens, c), and for maps of channels-last networks."""
    if isinstance(module, CHANNELS_FIRST):
        return 1
    if isinstance(module, nn.Linear):
        return -1
    own = list(module.parameters(recurse=False)) if module is not None and is_norm(module) else []
    size = next((parameter.numel() for parameter in own if parameter.dim() == 1), None)
    if size in (x.shape[1], x.shape[-1]):
        if x.shape[1] != x.shape[-1]:
            return 1 if size == x.shape[1] else -1
        last = isinstance(module, nn.LayerNorm | nn.RMSNorm) and not type(module).__name__.endswith("2d")
        return -1 if last else 1  # a LayerNorm2d of timm or torchvision is a LayerNorm of (n, c, h, w)
    return -1 if x.dim() == 3 else 1
