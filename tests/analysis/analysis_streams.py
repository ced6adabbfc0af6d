"""A toy model, streams of made images, and predictions that figures are checked on."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from toys import CLASSES, made

import tent
from tent.analysis import Domain, Observation, predict
from tent.data import Stream
from tent.data.order import Stored
from tent.data.samples import Samples


def stream(total: int = 40, size: int = 10, shift: float = 0.0, labelled: bool = True, name: str = "made") -> Stream:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(total, 3, 8, 8, generator=generator) * (1 + shift) + shift
    y = torch.randint(0, CLASSES, (total,), generator=generator)
    samples = [(x[i], y[i]) if labelled else x[i] for i in range(total)]
    return Stream(Samples(samples, name, CLASSES), size, Stored())


def models(lr: float = 0.1) -> dict[str, tent.Adapted]:
    net = made("conv")
    methods = {"Source": tent.Source(), "BN": tent.BN(), "Tent": tent.Tent()}
    return {name: tent.adapt(net, method, lr=lr, lean=False) for name, method in methods.items()}


def grid(types: Sequence[str] = ("fog", "snow"), levels: Sequence[int] = (1, 2, 3)) -> dict[Domain, Stream]:
    streams = {Domain("original", level=0, original=True): stream(name="original")}
    for place, kind in enumerate(types):
        for level in levels:
            streams[Domain(f"{kind} {level}", kind, level)] = stream(
                shift=level * (0.3 + 0.2 * place), name=f"{kind}{level}"
            )
    return streams


def draw_logits(
    images: int, classes: int = 7, methods: Sequence[str] = ("Source", "Tent"), seed: int = 0
) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {name: 3 * torch.randn(images, classes, generator=generator, dtype=torch.float64) for name in methods}


def observe(
    logits: dict[str, Tensor], labels: Tensor | None, size: int = 16, domain: str = "fog 1"
) -> list[Observation]:
    """Return the predictions of all images, batch by batch."""
    total, seen = len(next(iter(logits.values()))), []
    for first in range(0, total, size):
        part = slice(first, first + size)
        own = None if labels is None else labels[part]
        by_method = {name: predict(z[part], own) for name, z in logits.items()}
        seen.append(Observation(Domain("fog 1", "fog", 1), None if own is None else np.asarray(own), by_method))
    return seen
