"""The demo: the shipped model on the shipped images, corrupted here, under three methods."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tent.adapted import adapt
from tent.data.corruptions import BENCHMARK, corrupt
from tent.data.order import Shuffled
from tent.data.sample import sample
from tent.data.sets.arrays import ArrayImages
from tent.data.sets.images import Pixels
from tent.data.stream import Batch, Stream
from tent.evaluate import Evaluation, Track, evaluate
from tent.methods import BN, Source, Tent
from tent.models import zoo
from tent.tasks import Classification

MODEL, NETWORK = "r26w2-cifar10", "R-26 of width 2"
METHODS = {"source": Source(), "BN": BN(), "Tent": Tent()}
FIVE = (
    "gaussian_noise",
    "defocus_blur",
    "fog",
    "contrast",
    "jpeg_compression",
)  # of every family: noise, blur, weather, digital
SEVERITY, BATCH = 5, 128
LR = 1e-2  # chosen on the held-out types: the paper's 1e-3 is for streams five times as long
CALL = f"tent.adapt(model, lr={LR:g})"  # Tent, as README shows it above the picture


@dataclass
class Demo:
    """What the demo found: each method's metrics, and what it said of the first batch of each type."""

    types: Sequence[str]
    class_names: Sequence[str]
    protocol: str = ""
    evaluations: dict[str, Evaluation] = field(default_factory=dict)  # by method
    answers: dict[str, dict[str, NDArray[np.int64]]] = field(default_factory=dict)  # method -> type -> first batch
    labels: dict[str, NDArray[np.int64]] = field(default_factory=dict)  # type -> first batch
    images: dict[str, Pixels] = field(default_factory=dict)  # likewise, corrupted

    def note(self, method: str, batch: Batch, output: Tensor) -> None:
        """Keep what a method says of the first batch of a type."""
        self.answers.setdefault(method, {}).setdefault(batch.domain, output.argmax(1).cpu().numpy())
        self.labels.setdefault(batch.domain, np.asarray(batch.labels))

    def error(self, method: str, kind: str) -> float:
        """Return the share of one type that a method got wrong."""
        return self.evaluations[method].by_domain[kind]["error"]

    def mean(self, method: str) -> float:
        """Return the mean error over the types."""
        return float(np.mean([self.error(method, kind) for kind in self.types]))

    def by_batch(self, method: str) -> list[float]:
        """Return the error of each batch of a type, the mean over the types."""
        errors = np.reshape(self.evaluations[method].by_batch["error"], (len(self.types), -1))
        return [float(error) for error in errors.mean(0)]


def demo(
    track: Track,
    seed: int = 0,
    types: Sequence[str] = FIVE,
    device: torch.device = torch.device("cpu"),  # noqa: B008 (it is a name)
    precision: str = "float32",
) -> Demo:
    """Corrupt the sample, and run the shipped model on it online, reset between types, in one order for all methods."""
    entry, clean, streams = zoo.load(MODEL), sample(), []
    entry.model.to(device)
    found = Demo(types, tuple(clean.class_names or ()))
    for kind in types:
        images = corrupt_sample(kind, seed)
        streams.append(_batch(images, kind, seed))
        found.images[kind] = np.asarray(images.fetch(streams[-1].indices[:BATCH]))
    found.protocol = (
        f"{NETWORK}, {clean.name} ({len(clean):,} images), severity {SEVERITY}, batches of {BATCH} "
        f"{streams[0].order_words}, online, reset between types, answers before the update; Tent is {CALL}: Adam {LR:g}"
        + ("" if precision == "float32" else f", {precision}")
    )
    for name, method in METHODS.items():
        adapted = adapt(entry.model, method, lr=LR, precision=precision)  # type: ignore[arg-type]
        note, titled = partial(found.note, name), _with_title(track, name)
        found.evaluations[name] = evaluate(
            adapted, Stream.sequence(streams), Classification(10), reset="domain", on_batch=note, track=titled
        )
    return found


def demo_stream(kind: str, seed: int = 0) -> Stream:
    """Return the shipped images under one type of corruption, in the demo's batches, for the shipped model."""
    return _batch(corrupt_sample(kind, seed), kind, seed)


def corrupt_sample(kind: str, seed: int = 0) -> ArrayImages:
    """Return the shipped images under one type of corruption."""
    clean = sample()
    damaged = corrupt(np.asarray(clean.fetch(np.arange(len(clean)))), kind, SEVERITY, seed=seed)
    return ArrayImages(f"{clean.name}, {kind} {SEVERITY}", damaged, clean.labels, 10, clean.class_names)


def _batch(images: ArrayImages, kind: str, seed: int) -> Stream:
    return Stream(images, BATCH, Shuffled(seed), zoo.load(MODEL).preprocess, domain=kind)


def _with_title(track: Track, name: str) -> Track:
    return lambda batches, what, count: track(batches, name, count)


def corruption_types(every: bool) -> Sequence[str]:
    """Return the five types of the demo, or all fifteen of the benchmark."""
    return BENCHMARK if every else FIVE
