"""CIFAR-10-C with all of the paper's rows: what adapts a source model, what alters its training, and a bound."""

from collections.abc import Sequence
from dataclasses import replace

from tent.bench.case import Case
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Suite, grid
from tent.bench.suites.cifar import FAMILIES, MODELS, choice, columns, rows
from tent.data.corruptions import BENCHMARK
from tent.train.baseline import model_name

NAME, SOURCE, SEVERITY = "cifar10-c", "cifar10", 5
ROWS = ("Source", "RG", "UDA-SS", "TTT", "BN", "PL", "Tent", "Tent offline", "Oracle", "Oracle offline")
TRAINED = {"RG": "rg", "UDA-SS": "uda-ss"}  # for every target anew, so on one type of each family alone
FEW = f"mean of {len(FAMILIES)} types"


def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every row on its types, in order."""
    cases = dict(rows(NAME, limit))
    cases |= {row.replace("Tent", "Oracle"): replace(cases[row], method="oracle") for row in ("Tent", "Tent offline")}
    cases["TTT"] = replace(cases["Source"], model=f"trained:{model_name('ttt', SOURCE)}", method="ttt")
    return [cell for seed in seeds for row in ROWS for cell in _row(row, cases, seed)]


def _row(row: str, cases: dict[str, Case], seed: int) -> list[Cell]:
    if row not in TRAINED:
        return grid([(row, cases[row])], columns(NAME, seed, SEVERITY, BENCHMARK))
    models = {type_: f"trained:{model_name(TRAINED[row], SOURCE, f'{NAME}:{type_}:{SEVERITY}')}" for type_ in FAMILIES}
    plain = grid([(row, cases["Source"])], columns(NAME, seed, SEVERITY, FAMILIES))
    return [replace(cell, case=replace(cell.case, model=models[cell.column])) for cell in plain]


CIFAR10C = Suite(
    NAME,
    "CIFAR-10-C, R-26, severity 5",
    cells,
    ROWS,
    BENCHMARK,
    MODELS[NAME],
    means={MEAN: BENCHMARK, FEW: FAMILIES},
    choice=choice(NAME),
)
