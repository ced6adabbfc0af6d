"""The paper's Table 2, CIFAR-10-C and CIFAR-100-C: what adapts a source model, what alters its training, and a bound.

The paper adapts offline there; the online rows are beside that. RG and UDA-SS learn from corrupted training images.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tent.bench.case import Case
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Suite, grid
from tent.bench.suites.cifar import FAMILIES, MODELS, SEVERITY, choice, columns, rows
from tent.data.corruptions import BENCHMARK
from tent.train.baseline import model_name

SOURCES = {"cifar10-c": "cifar10", "cifar100-c": "cifar100"}
TRAINED = {"RG": "rg", "UDA-SS": "uda-ss"}  # for every target anew, so on one type of each family alone
FEW = f"mean of {len(FAMILIES)} types"
ROWS = (
    *("Source", "RG", "UDA-SS", "TTT", "TTT offline", "BN", "PL", "PL offline", "Tent", "Tent offline"),
    *("Oracle", "Oracle offline"),
)


def cells(name: str, seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every row on its types, in order."""
    cases = dict(rows(name, limit))
    cases |= {row.replace("Tent", "Oracle"): replace(cases[row], method="oracle") for row in ("Tent", "Tent offline")}
    cases["TTT"] = replace(cases["Source"], model=f"trained:{model_name('ttt', SOURCES[name])}", method="ttt")
    cases |= {f"{row} offline": replace(cases[row], when="offline") for row in ("TTT", "PL")}
    return [cell for seed in seeds for row in ROWS for cell in _row(name, row, cases, seed)]


def _row(name: str, row: str, cases: dict[str, Case], seed: int) -> list[Cell]:
    if row in TRAINED:
        return _trained(name, row, cases["Source"], seed, ":train")
    return grid([(row, cases[row])], columns(name, seed, SEVERITY, BENCHMARK))


def _trained(name: str, row: str, plain: Case, seed: int, split: str) -> list[Cell]:
    def put(cell: Cell) -> Cell:
        target = f"{name}:{cell.column}:{SEVERITY}{split}"
        model = f"trained:{model_name(TRAINED[row], SOURCES[name], target)}"
        return replace(cell, case=replace(cell.case, model=model))

    return [put(cell) for cell in grid([(row, plain)], columns(name, seed, SEVERITY, FAMILIES))]


def on_test_cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return the source model, and RG and UDA-SS that learnt from the very images that they are tested on."""
    name, found = "cifar10-c", list[Cell]()
    plain = dict(rows(name, limit))["Source"]
    for seed in seeds:
        found += grid([("Source", plain)], columns(name, seed, SEVERITY, FAMILIES))
        for row in TRAINED:
            found += [replace(cell, row=ON_TEST[row]) for cell in _trained(name, row, plain, seed, "")]
    return found


def _suite(name: str, title: str) -> Suite:
    means = {MEAN: BENCHMARK, FEW: FAMILIES}
    return Suite(name, title, partial(cells, name), ROWS, BENCHMARK, MODELS[name], means, choice(name))


ON_TEST = {row: f"{row}, on test images" for row in TRAINED}
CIFAR10C = _suite("cifar10-c", "CIFAR-10-C, R-26, severity 5")
CIFAR100C = _suite("cifar100-c", "CIFAR-100-C, R-26, severity 5")
CIFAR10C_ON_TEST = Suite(
    "cifar10-c-on-test",
    "CIFAR-10-C, R-26, severity 5: RG and UDA-SS that learnt, without labels, from the images they are tested on",
    on_test_cells,
    ("Source", *ON_TEST.values()),
    FAMILIES,
    MODELS["cifar10-c"],
    means={MEAN: FAMILIES},
)
