"""The form of the paper's Figure 5: error by type, averaged over the five levels, beside that on the original data.

On the original data, which is not shifted, nothing should be lost.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tent.bench.case import Case, Data
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Suite, grid
from tent.bench.suites.cifar import MODELS, SEVERITIES, choice, columns, rows
from tent.bench.suites.table2 import SOURCES
from tent.data.corruptions import BENCHMARK

ORIGINAL = "original"
ROWS = ("Source", "BN", "PL", "Tent")
LEVELS = {type_: tuple(f"{type_} {severity}" for severity in SEVERITIES) for type_ in BENCHMARK}
COLUMNS = (ORIGINAL, *(column for levels in LEVELS.values() for column in levels))
MEANS = {ORIGINAL: (ORIGINAL,), **LEVELS, MEAN: COLUMNS[1:]}


def cells(name: str, seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every method on the original data and on every type at every level."""
    own = [(row, case) for row, case in rows(name, limit) if row in ROWS]
    return [cell for seed in seeds for cell in grid(own, level_columns(name, SOURCES[name], seed))]


def level_columns(name: str, source: str, seed: int) -> list[tuple[str, Callable[[Case], Case]]]:
    """Return a column for the original data, and one for each type and level: what puts a case on it."""

    def put(case: Case) -> Case:
        return replace(case, seed=seed, data=(Data(source),))

    levels = {severity: dict(columns(name, seed, severity, BENCHMARK)) for severity in SEVERITIES}
    types = [(f"{type_} {severity}", levels[severity][type_]) for type_ in BENCHMARK for severity in SEVERITIES]
    return [(ORIGINAL, put), *types]


def _suite(name: str, title: str) -> Suite:
    own = partial(cells, name)
    return Suite(f"{name}-by-type", title, own, ROWS, COLUMNS, MODELS[name], MEANS, choice(name), only_means=True)


CIFAR10C_BY_TYPE = _suite("cifar10-c", "CIFAR-10-C, R-26, by type over the five levels, and the original data")
CIFAR100C_BY_TYPE = _suite("cifar100-c", "CIFAR-100-C, R-26, by type over the five levels, and the original data")
