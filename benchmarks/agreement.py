"""How far the lean path is from the published recipe after 20 steps, and bfloat16 from float32 in error."""

import argparse
import copy
from collections.abc import Iterable, Mapping

import numpy as np
import torch
from networks import Plain
from torch import Tensor

import tent
from tent.data import Stream, load
from tent.data.corruptions import corrupt
from tent.data.order import Shuffled
from tent.data.sample import sample
from tent.evaluate import evaluate
from tent.models import zoo
from tent.models.entry import Entry
from tent.tasks import Classification

TYPES = ("gaussian_noise", "defocus_blur", "fog", "jpeg_compression")  # one of every family
STEPS = 20
TITLES = (
    *("γ and β", "logits", "share of the largest logit"),
    *("ours to float64", "published to float64", "error, float32", "error, bfloat16"),
)


def after_steps(entry: Entry, kind: str) -> tuple[float, ...]:
    """Return the largest differences, after 20 steps of 100 shipped images each, that `TITLES` names."""
    images = sample()
    pixels = corrupt(np.asarray(images.fetch(np.arange(len(images)))), kind, 5)
    ours, plain, exact = tent.adapt(entry.model), Plain(entry.model), Plain(copy.deepcopy(entry.model).double())
    mine = theirs = torch.empty(0)
    size = len(pixels) // STEPS
    for first in range(0, size * STEPS, size):
        x = entry.preprocess(pixels[first : first + size])
        mine, theirs = ours(x), plain(x)
        exact(x.double())
    a, b, truth = (dict(each.named_parameters()) for each in (ours, plain.model, exact.model))
    furthest = float((mine - theirs).abs().max())
    return apart(a, a, b), furthest, furthest / float(theirs.abs().max()), apart(a, a, truth), apart(a, b, truth)


def apart(names: Iterable[str], a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> float:
    """Return the largest difference between the parameters of these names."""
    return max(float((a[name] - b[name]).detach().abs().max()) for name in names)


def error(entry: Entry, stream: Stream, precision: str) -> float:
    """Return the error of Tent over a stream, online."""
    adapted = tent.adapt(entry.model, precision=precision)  # type: ignore[arg-type]
    return evaluate(adapted, stream, Classification()).metrics["error"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=10_000, help="of each type of CIFAR-10-C, which must be there")
    options = parser.parse_args()
    entry = zoo.load("r26-cifar10")
    print(f"| type | {' | '.join(TITLES)} |\n|{'---|' * (1 + len(TITLES))}")
    for kind in TYPES:
        stream = Stream(load("cifar10-c", corruption=kind, severity=5), 128, Shuffled(0), entry.preprocess).first(
            options.images
        )
        cells = [f"{value:.1e}" for value in after_steps(entry, kind)]
        cells += [f"{error(entry, stream, precision):.2%}" for precision in ("float32", "bfloat16")]
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
