"""Features of layers while a model answers, without a trace on it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor, nn

from tent.analysis.observation import Floats
from tent.engine.structures import list_tensors
from tent.select import norm_affine


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


def find_layers(model: nn.Module, layers: Sequence[str]) -> dict[str, nn.Module]:
    """Return the modules of these names, or say which is none and what is near it."""
    known = {name: module for name, module in model.named_modules() if name}
    for name in layers:
        if name not in known:
            near = (get_close_matches(name, known, 1, 0) or ["none"])[0]
            raise ValueError(f"layers: {type(model).__name__} has no layer {name!r}; the nearest is {near!r}")
    return {name: known[name] for name in layers}


def choose_layers(model: nn.Module, count: int = 9) -> list[str]:
    """Return names of norm layers, whose output Tent modulates, evenly spaced from the first to the last."""
    if count < 1:
        raise ValueError(f"layers {count}: give 1 or more, or names")
    norms = list(dict.fromkeys(name.rpartition(".")[0] for name in norm_affine(model)))
    if not norms:
        raise ValueError(f"{type(model).__name__} has no norm layer with γ and β; name layers, such as fc")
    places = np.linspace(0, len(norms) - 1, min(count, len(norms))).round().astype(int)
    return [norms[place] for place in places]


def _note(found: Features, name: str, module: nn.Module, inputs: Any, output: Any) -> None:
    """Reduce at once: what follows may write over the output."""
    tensors = list_tensors(output)
    if not tensors or tensors[0].dim() < 2:
        raise ValueError(f"layer {name!r} returns no features of images, (n, channels, ...); name another")
    found[name] = channel_means(tensors[0]).cpu().numpy()


def channel_means(output: Tensor) -> Tensor:
    """Return the mean of each channel over an image: channels on axis 1 of maps, last of tokens, (n, tokens, c)."""
    x = output.detach()
    places = (1,) if x.dim() == 3 else tuple(range(2, x.dim()))
    return x.double().mean(places) if places else x.double()
