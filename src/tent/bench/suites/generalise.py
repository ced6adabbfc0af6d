"""Generalisation: what was learnt from one half of the corrupted images, on the half that was not seen.

The paper learns from the target's training images and tests on its test images; CIFAR-10-C has test images alone, so
both halves are of those, and of one size.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tent.bench.case import Case, Data
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Suite, grid
from tent.bench.suites.cifar import MODELS
from tent.data.corruptions import BENCHMARK

NAME = "cifar10-c"
IMAGES = 10_000  # of a type
METHODS = ("Source", "BN", "Tent offline")
HALVES = ("same half", "other half")  # as the one that is learnt from


def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every method on the half that Tent learns from and on the other, of every type."""
    half = max(1, min(limit or IMAGES, IMAGES) // 2)
    case = Case(MODELS[NAME], (Data(NAME),), "source")
    tent = replace(case, method="tent", optimizer="adam", lr=1e-3, when="offline")
    first, second = Data(NAME, part=(0, half)), Data(NAME, part=(half, 2 * half))
    cases = (
        *(replace(each, data=(data,)) for each in (case, replace(case, method="bn")) for data in (first, second)),
        replace(tent, data=(first,)),
        replace(tent, data=(second,), fit=first),
    )
    rows = list(zip(ROWS, cases, strict=True))
    return [cell for seed in seeds for cell in grid(rows, _columns(seed))]


def _columns(seed: int) -> list[tuple[str, Callable[[Case], Case]]]:
    def put(case: Case, type_: str) -> Case:
        data = tuple(replace(each, corruption=type_, severity=5) for each in case.data)
        fit = case.fit and replace(case.fit, corruption=type_, severity=5)
        return replace(case, seed=seed, data=data, fit=fit)

    return [(type_, partial(put, type_=type_)) for type_ in BENCHMARK]


ROWS = tuple(f"{method}, {half}" for method in METHODS for half in HALVES)
GENERALISE = Suite(
    "generalise",
    "CIFAR-10-C, R-26, severity 5: fitted on one half, tested on it and on the other",
    cells,
    ROWS,
    BENCHMARK,
    MODELS[NAME],
    means={MEAN: BENCHMARK},
)
