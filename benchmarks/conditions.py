"""When adaptation helps and when it hurts: shipped models on the shipped images under conditions that users meet.

Run: python benchmarks/conditions.py [--only NAME ...]; it downloads nothing, and adds what conditions.json
beside it lacks.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

import tent
from tent.apps import demo
from tent.data import Stream
from tent.data.corruptions import HELD_OUT, corrupt
from tent.data.order import Order, Shuffled, SortedByClass
from tent.data.sample import sample
from tent.data.sets.arrays import ArrayImages
from tent.data.stream import Batch
from tent.evaluate import evaluate
from tent.models import zoo
from tent.tasks import Classification

OUT = Path(__file__).with_suffix(".json")
TYPES = ("clean", "gaussian_noise", "fog", "jpeg_compression")
RATES = (0.001, 0.003, 0.01, 0.03)
METHODS: dict[str, dict[str, Any]] = {
    "source": {"method": tent.Source()},
    "BN": {"method": tent.BN()},
    "Tent": {},
    **{f"Tent, lr {rate:g}": {"lr": rate} for rate in RATES},
    "Tent, Prior(16)": {"stats": tent.norm.Prior(16)},
}
MODEL = "r26-cifar10"
SHUFFLED, SORTED = Shuffled(0), SortedByClass(0)
CHOICES = {
    "held-out types": MODEL,
    "held-out types, the demo's model": demo.MODEL,
}  # of no other condition, to choose by
CONDITIONS: dict[str, tuple[int, Order, int, tuple[str, ...]]] = {  # batch, order, images of each type, methods
    "batches of 128": (128, SHUFFLED, 2000, ("source", "BN", "Tent", "Tent, lr 0.01")),
    "sorted by class": (128, SORTED, 2000, ("Tent", "BN")),
    "batches of 16": (16, SHUFFLED, 2000, ("Tent, Prior(16)", "Tent")),
    "single images": (1, SHUFFLED, 500, ("Tent, Prior(16)", "source", "Tent")),
    **{choice: (128, SHUFFLED, 2000, tuple(f"Tent, lr {rate:g}" for rate in RATES)) for choice in CHOICES},
}


def measure(condition: str, method: str) -> dict[str, dict[str, float]]:
    """Return error, entropy and the share of the class that is answered most, from the source model for each type."""
    entry, clean = zoo.load(CHOICES.get(condition, MODEL)), sample()
    size, order, images, _ = CONDITIONS[condition]
    pixels, found = np.asarray(clean.fetch(np.arange(len(clean)))), {}
    for kind in HELD_OUT if condition in CHOICES else TYPES:
        damaged = pixels if kind == "clean" else corrupt(pixels, kind, 5, seed=0)
        stream = Stream(ArrayImages(kind, damaged, clean.labels, 10), size, order, entry.preprocess).first(images)
        answers = np.zeros(10)

        def count(batch: Batch, output: Tensor, answers: Any = answers) -> None:
            answers += np.bincount(output.argmax(1).numpy(), minlength=10)

        adapted = tent.adapt(entry.model, **METHODS[method])
        metrics = evaluate(adapted, stream, Classification(10), on_batch=count).metrics
        figures = {"error": metrics["error"], "entropy": metrics["entropy"], "most": answers.max() / answers.sum()}
        found[kind] = {name: round(float(value), 5) for name, value in figures.items()}
    return found


def read() -> dict[str, Any]:
    """Return what was measured so far."""
    return dict(json.loads(OUT.read_text(encoding="utf-8"))) if OUT.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[*CONDITIONS], choices=[*CONDITIONS])
    for condition in parser.parse_args().only:
        for method in CONDITIONS[condition][3]:
            if method in read().get(condition, {}):
                continue
            figures = measure(condition, method)
            found = read()  # again: another run may have added to it meanwhile
            found.setdefault(condition, {})[method] = figures
            OUT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(condition, method, {kind: each["error"] for kind, each in figures.items()}, flush=True)


if __name__ == "__main__":
    main()
