"""Baking: a plain copy of the model with what was adapted folded in, for those who export and serve it."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

from tent.engine.engine import Engine
from tent.engine.mode import Moments
from tent.engine.structures import batch_inputs, detach_inputs


def bake(engine: Engine, batches: Iterable[Any] | None) -> nn.Module:
    """Return an eval-mode copy that normalises by the statistics of these batches (or by the remembered ones)."""
    moments = dict(engine.state.moments)
    if batches is not None:
        moments |= observed(engine, batches)
    elif engine.source.norms and not engine.stats.remembers and engine.stats.share(1) > 0:
        raise ValueError("baked needs batches to take the batch norms' statistics from: adapted.baked([x])")
    model = copy.deepcopy(engine.source.model).eval()
    model.zero_grad()
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name, param in engine.state.params.items():
            parameters[name].copy_(param)
        _fold(model, moments, own_instances=engine.stats.share(1) == 1.0)
    return model


def observed(engine: Engine, batches: Iterable[Any]) -> dict[str, Moments]:
    """Return the moments that each batch norm was normalised by, pooled over the batches."""
    pooled: dict[str, list[Moments]] = {}
    count = 0
    for count, batch in enumerate(batches, 1):  # noqa: B007
        for name, moments in engine.forward(detach_inputs(batch_inputs(batch)), observe=True).moments.items():
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


def _fold(model: nn.Module, moments: Mapping[str, Moments], own_instances: bool) -> None:
    for name, layer in model.named_modules():
        if name in moments:
            layer._buffers["running_mean"].copy_(moments[name].mean)
            layer._buffers["running_var"].copy_(moments[name].var)
        elif own_instances and isinstance(layer, nn.modules.instancenorm._InstanceNorm):
            layer.track_running_stats = False  # each image by its own statistics, as it was while adapting
            layer.running_mean = layer.running_var = None
