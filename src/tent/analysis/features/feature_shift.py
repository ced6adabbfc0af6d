"""Features layer by layer (the paper's Figure 7 and appendix C), and how far each method's are from the clean ones."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from typing import Any

import torch
from torch import nn

from tent.adapted import Adapted, adapt
from tent.analysis.analyse_streams import answer, answer_together, learn_together
from tent.analysis.features.capture import Features, capture, choose_layers, count_passes, find_layers, list_norms
from tent.analysis.features.channels import EDGES, Alignment, Density, Moments, frechet_distance
from tent.analysis.numbers import Numbers, Row
from tent.analysis.observation import Domain
from tent.data.stream import Batch, Stream
from tent.evaluate import Track, evaluate, model_device
from tent.methods import Source
from tent.tasks.oracle import Oracle

CLEAN, ORACLE = "Clean", "Oracle"
FEW = 8  # images that are answered to see which layers are run


def compare_features(
    model: nn.Module,
    models: Mapping[str, Adapted],
    shifted: Stream,
    clean: Stream,
    layers: Sequence[str] | int = 9,
    *,
    paired: bool = True,
    lr: float | None = None,
    epochs: int = 0,
    track: Track | None = None,
) -> Numbers:
    """Adapt every model on the shifted stream, then compare features of it with the source's of the clean stream.

    Args:
        models: methods by name; an oracle, which learns from labels, is added to them where the stream has some.
        layers: names, or a number of norm layers that are evenly spaced.
        paired: whether both streams are the same images in the same order, as CKA to the clean features needs.
        lr: the oracle's learning rate; its own unless given.
        epochs: passes over the shifted stream that are learnt from; 0: one, online. Features are of paused models.
    """
    if paired and shifted.total != clean.total:
        raise ValueError(f"{shifted.total:,} shifted images and {clean.total:,} clean ones are no pairs; paired=False")
    names = list_layers(model, shifted, layers)
    models = add_oracle(model, models, shifted, lr)
    if obstacle := find_pass_mismatch(model, models, shifted, names):
        raise ValueError(f"features: {obstacle}")
    reference = adapt(model, Source(), lean=False)
    for each in models.values():
        each.reset()
    if epochs:
        learn_together(models, shifted, epochs, track)
    else:
        answer_together(models, shifted, lambda batch, logits: None, track)
    stats = _Stats(names, list(models), paired)
    with capture(reference.source, names) as features:
        evaluate(reference, clean, on_batch=lambda batch, output: stats.add_clean(features), track=track)
        _compare(reference, models, shifted, clean, features, stats)
    return stats.numbers(shifted)


def choose_domain(domains: Iterable[Domain]) -> Domain:
    """Return the first type at its highest level, as the paper compares features on Gaussian noise."""
    shifted = [domain for domain in domains if not domain.original]
    return max((domain for domain in shifted if domain.type == shifted[0].type), key=lambda each: each.level or 0)


def add_oracle(
    model: nn.Module, models: Mapping[str, Adapted], stream: Stream, lr: float | None = None
) -> dict[str, Adapted]:
    """Return the models, and an oracle of this learning rate where the stream has labels and there is none yet."""
    if not stream.labelled or ORACLE in models:
        return dict(models)
    return {**models, ORACLE: adapt(model, Oracle(), lr=lr, lean=False)}


def list_layers(model: nn.Module, stream: Stream, layers: Sequence[str] | int = 9) -> list[str]:
    """Return the layers of these names, or so many norm layers of those that are run, as auxiliary heads are not."""
    if not isinstance(layers, int):
        return list(find_layers(model, layers))
    runs = _count_answer(model, adapt(model, Source(), lean=False), stream, list_norms(model))
    return choose_layers(model, layers, among=None if runs is None else set(runs))


def find_pass_mismatch(
    model: nn.Module, models: Mapping[str, Adapted], stream: Stream, layers: Sequence[str]
) -> str | None:
    """Return why features of these layers cannot be compared, if so: a few images are answered, and nothing moves."""
    due = _count_answer(model, adapt(model, Source(), lean=False), stream, layers)
    if due is None:
        return None
    for layer in layers:
        if not due[layer]:
            return f"layer {layer!r} is not run when the model answers; name another"
    for name, each in models.items():
        runs = _count_answer(model, each, stream, layers) or due
        for layer in layers:
            if runs[layer] != due[layer]:
                times = f"{runs[layer]} times for one answer, and the source model {due[layer]}"
                return f"{name} runs layer {layer!r} {times}; which pass answers is not known, so choose another method"
    return None


def _count_answer(model: nn.Module, adapted: Adapted, stream: Stream, layers: Sequence[str]) -> Counter[str] | None:
    """Return how often layers are run in one answer to a few images; None if none of these can be read."""
    batch = next(iter(stream.first(min(FEW, stream.total))), None)
    if batch is None:
        return None
    batch = batch.to(model_device(model))
    with torch.no_grad(), adapted.paused():
        answer(adapted, batch)  # a first answer may be checked by another path, which runs the layers as well
        with count_passes(model, layers) as runs:
            answer(adapted, batch)
    return runs


def _compare(
    reference: Adapted, models: Mapping[str, Adapted], shifted: Stream, clean: Stream, found: Features, stats: Any
) -> None:
    device = model_device(reference.source)
    with ExitStack() as paused:
        for model in models.values():
            paused.enter_context(model.paused())
        for shifted_batch, clean_batch in zip_longest(shifted, clean):
            own = (
                {name: _features(model, shifted_batch.to(device), found) for name, model in models.items()}
                if shifted_batch
                else {}
            )
            stats.add({**({CLEAN: _features(reference, clean_batch.to(device), found)} if clean_batch else {}), **own})


def _features(model: Adapted, batch: Batch, found: Features) -> Features:
    with torch.no_grad():
        answer(model, batch)
    return Features(found)


class _Stats:
    """All that is added up, by layer: moments and densities of every view, and alignments of pairs of them."""

    def __init__(self, layers: Sequence[str], methods: Sequence[str], paired: bool) -> None:
        views = [CLEAN, *methods]
        self._layers, self._methods = layers, methods
        self._reference = {layer: Moments() for layer in layers}
        self._moments = {(layer, view): Moments() for layer in layers for view in views}
        self._densities = {(layer, view): Density() for layer in layers for view in views}
        targets = [*([CLEAN] if paired else []), *([ORACLE] if ORACLE in methods else [])]
        pairs = [(method, to) for to in targets for method in methods if method != to]
        self._alignments = {(layer, *pair): Alignment() for layer in layers for pair in pairs}

    def add_clean(self, features: Features) -> None:
        """Count a batch that sets the unit of every channel."""
        for layer, moments in self._reference.items():
            moments.add(features[layer])

    def add(self, views: Mapping[str, Features]) -> None:
        """Count a batch, seen by the clean source and by every method."""
        for layer in self._layers:
            for view, features in views.items():
                self._moments[layer, view].add(features[layer])
                self._densities[layer, view].add(features[layer], self._reference[layer])
        for (layer, one, other), alignment in self._alignments.items():
            if one in views and other in views:
                alignment.add(views[one][layer], views[other][layer])

    def numbers(self, shifted: Stream) -> Numbers:
        tables = {"": self._distances(), "density": self._density_rows(), "channels": self._channel_rows()}
        dead = {layer: int((m.unit == 0).sum()) for layer, m in self._reference.items()}
        notes = [f"{layer}: {n} channels never vary on clean data and are left out" for layer, n in dead.items() if n]
        return Numbers("features", tables, {"layers": list(self._layers), "shifted": shifted.name}, notes)

    def _distances(self) -> list[Row]:
        rows: list[Row] = []
        for depth, layer in enumerate(self._layers, 1):
            unit = self._reference[layer].unit
            for method in self._methods:
                row: dict[str, Any] = {"layer": layer, "depth": depth, "method": method, "channels": len(unit)}
                for to in (CLEAN, ORACLE) if ORACLE in self._methods else (CLEAN,):
                    one, other = self._moments[layer, method], self._moments[layer, to]
                    alignment = self._alignments.get((layer, method, to))
                    row[f"distance to {to.lower()}"] = None if method == to else frechet_distance(one, other, unit)
                    row[f"cka to {to.lower()}"] = alignment.compute() if alignment else None
                rows.append(row)
        return rows

    def _density_rows(self) -> list[Row]:
        return [
            {"layer": layer, "view": view, "low": float(low), "share": float(part)}
            for (layer, view), density in self._densities.items()
            for low, part in zip(EDGES[:-1], density.shares, strict=True)
        ]

    def _channel_rows(self) -> list[Row]:
        return [
            {"layer": layer, "view": view, "channel": i, "mean": float(mean), "deviation": float(deviation)}
            for (layer, view), moments in self._moments.items()
            for i, (mean, deviation) in enumerate(zip(moments.mean, moments.deviation, strict=True))
        ]
