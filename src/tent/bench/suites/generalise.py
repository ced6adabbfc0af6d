"""Generalisation (the paper's section 4.3): what is learnt from target train, tested on target test.

Corrupted training images are made by `tent data make cifar100-c --split train`.
"""

from collections.abc import Sequence
from dataclasses import replace

from tent.bench.case import Case, Data
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Suite
from tent.bench.suites.cifar import MODELS
from tent.bench.suites.digits import SIZE
from tent.bench.suites.digits import SOURCE as DIGITS_MODEL
from tent.data.corruptions import BENCHMARK

NAME, MNIST = "cifar100-c", "SVHN→MNIST"
IMAGES = 10_000  # of a target's test set
TRAIN_IMAGES = {MNIST: 60_000}  # of a target's training set; 50,000 of a corruption's
EPOCHS = {MNIST: 10}  # as in the paper; one epoch of a corruption
ROWS = ("Source", "BN", "Tent offline, on test", "Tent offline, on train", "Tent offline, on as much of train")


def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every row on every target."""
    targets = {type_: Data(NAME, corruption=type_, severity=5) for type_ in BENCHMARK}
    targets[MNIST] = Data("mnist", size=SIZE)
    found: list[Cell] = []
    for seed in seeds:
        for column, data in targets.items():
            model = DIGITS_MODEL if column == MNIST else MODELS[NAME]
            plain = Case(model, (data,), "source", seed=seed, images=limit)
            found += [Cell(row, column, case) for row, case in _rows(plain, column).items()]
    return found


def _rows(plain: Case, column: str) -> dict[str, Case]:
    tent = replace(plain, method="tent", optimizer="adam", lr=1e-3, when="offline", epochs=EPOCHS.get(column, 1))
    train = replace(plain.data[0], split="train")
    images = min(plain.images or IMAGES, IMAGES)
    part = replace(train, part=(0, images))
    if images < IMAGES:  # as many times the test images as there are
        train = replace(train, part=(0, images * TRAIN_IMAGES.get(column, 50_000) // IMAGES))
    cases = (plain, replace(plain, method="bn"), tent, replace(tent, fit=train), replace(tent, fit=part))
    return dict(zip(ROWS, cases, strict=True))


GENERALISE = Suite(
    "generalise",
    "Tent fitted on target test or train, tested on target test: CIFAR-100-C at severity 5, and SVHN to MNIST",
    cells,
    ROWS,
    (*BENCHMARK, MNIST),
    MODELS[NAME],
    means={MEAN: BENCHMARK},
)
