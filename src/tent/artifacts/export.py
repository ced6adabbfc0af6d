"""Baking: a plain copy of the model with what was adapted folded in, for those who export and serve it."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from tent.engine.mode import Moments
from tent.engine.state import State
from tent.engine.structures import batch_inputs, detach_inputs
from tent.norm import NormLayer, Stats


def bake(state: State, batches: Iterable[Any] | None) -> nn.Module:
    """Return an eval-mode copy that normalises by the statistics of these batches (or by the remembered ones)."""
    source, stats, moments = state.setup.source, state.setup.stats, dict(state.moments)
    if batches is not None:
        moments |= observe(state, batches)
    elif not stats.remembers and any(bool(_share(stats, name, layer).any()) for name, layer in source.norms.items()):
        raise ValueError("baked needs batches to take the batch norms' statistics from: adapted.baked([x])")
    model = copy.deepcopy(source.model).eval()
    model.zero_grad()
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name, param in state.params.items():
            if name in parameters:  # a method may move parameters of its own
                parameters[name].copy_(param)
        _fold(model, moments, stats)
    return model


def observe(state: State, batches: Iterable[Any]) -> dict[str, Moments]:
    """Return the moments that each batch norm was normalised by, pooled over the batches."""
    pooled: dict[str, list[Moments]] = {}
    count = 0
    for count, batch in enumerate(batches, 1):  # noqa: B007
        for name, moments in state.run(detach_inputs(batch_inputs(batch)), observe=True).moments.items():
            pooled.setdefault(name, []).append(moments)
    if not count:
        raise ValueError("baked was given no batches")
    return {name: _pool(found) for name, found in pooled.items()}


def _pool(found: list[Moments]) -> Moments:
    if len(found) == 1:
        return found[0]
    weights = torch.tensor([float(max(moments.values, 1)) for moments in found], dtype=torch.float64)
    weights = (weights / weights.sum()).to(found[0].mean)[:, None]
    means = torch.stack([moments.mean for moments in found])
    squares = torch.stack([moments.var for moments in found]) + means * means
    mean = (weights * means).sum(0)
    var = (weights * squares).sum(0) - mean * mean
    return Moments(mean, var.clamp_min(0), sum(moments.values for moments in found))


def _fold(model: nn.Module, moments: Mapping[str, Moments], stats: Stats) -> None:
    for name, layer in model.named_modules():
        if name in moments:
            layer._buffers["running_mean"].copy_(moments[name].mean)
            layer._buffers["running_var"].copy_(moments[name].var)
        elif isinstance(layer, nn.modules.instancenorm._InstanceNorm) and _share(stats, name, layer).eq(1).all():
            layer.track_running_stats = False  # each image by its own statistics, as it was while adapting
            layer.running_mean = layer.running_var = None


def _share(stats: Stats, name: str, layer: nn.Module) -> Tensor:
    # of one sample's own statistics
    mean = layer._buffers.get("running_mean")
    if mean is None:
        return torch.ones(())
    instances = isinstance(layer, nn.modules.instancenorm._InstanceNorm)
    own = NormLayer(name, mean, layer._buffers["running_var"], instances)
    return torch.as_tensor(stats.share(own, mean.new_zeros(1, len(mean))))
