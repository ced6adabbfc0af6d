"""The paper's Table 2, CIFAR-10-C and CIFAR-100-C: what adapts a source model, what alters its training, and a bound.

The paper adapts offline there; the online rows are beside that. RG and UDA-SS learn from corrupted training images.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tent.bench.case import Case
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Suite, grid
from tent.bench.suites.cifar import FAMILIES, MODELS, choice, columns, rows
from tent.data.corruptions import BENCHMARK
from tent.train.baseline import model_name

SOURCES, SEVERITY = {"cifar10-c": "cifar10", "cifar100-c": "cifar100"}, 5
# for every target anew, so on one type of each family alone; those on test images learn, without labels, from the very
# images that they are tested on
TRAINED = {
    "RG": ("rg", ":train"),
    "UDA-SS": ("uda-ss", ":train"),
    "RG on test images": ("rg", ""),
    "UDA-SS on test images": ("uda-ss", ""),
}
FEW = f"mean of {len(FAMILIES)} types"
ROWS = (
    *("Source", "RG", "UDA-SS", "TTT", "TTT offline", "BN", "PL", "PL offline", "Tent", "Tent offline"),
    *("Oracle", "Oracle offline"),
)
ON_TEST = ("RG on test images", "UDA-SS on test images")


def cells(name: str, shown: Sequence[str], seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every row on its types, in order."""
    cases = dict(rows(name, limit))
    cases |= {row.replace("Tent", "Oracle"): replace(cases[row], method="oracle") for row in ("Tent", "Tent offline")}
    cases["TTT"] = replace(cases["Source"], model=f"trained:{model_name('ttt', SOURCES[name])}", method="ttt")
    cases |= {f"{row} offline": replace(cases[row], when="offline") for row in ("TTT", "PL")}
    return [cell for seed in seeds for row in shown for cell in _row(name, row, cases, seed)]


def _row(name: str, row: str, cases: dict[str, Case], seed: int) -> list[Cell]:
    if row not in TRAINED:
        return grid([(row, cases[row])], columns(name, seed, SEVERITY, BENCHMARK))
    method, split = TRAINED[row]
    models = {type_: model_name(method, SOURCES[name], f"{name}:{type_}:{SEVERITY}{split}") for type_ in FAMILIES}
    plain = grid([(row, cases["Source"])], columns(name, seed, SEVERITY, FAMILIES))
    return [replace(cell, case=replace(cell.case, model=f"trained:{models[cell.column]}")) for cell in plain]


def _suite(name: str, title: str, shown: tuple[str, ...]) -> Suite:
    means = {MEAN: BENCHMARK, FEW: FAMILIES}
    return Suite(name, title, partial(cells, name, shown), shown, BENCHMARK, MODELS[name], means, choice(name))


CIFAR10C = _suite("cifar10-c", "CIFAR-10-C, R-26, severity 5", (*ROWS, *ON_TEST))
CIFAR100C = _suite("cifar100-c", "CIFAR-100-C, R-26, severity 5", ROWS)
