"""Digits, the paper's Table 3: SVHN to MNIST, MNIST-M and USPS; and MNIST to SVHN, where Tent fails in the paper."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tent.bench.case import Case, Data
from tent.bench.suite import Cell, Suite, grid
from tent.train.baseline import model_name

SOURCE = "r26-svhn"
SIZE = 32  # of SVHN, which the source model was trained on
COLUMNS = {
    "MNIST": (SOURCE, "mnist"),
    "MNIST-M": (SOURCE, "mnist-m"),
    "USPS": (SOURCE, "usps"),
    "MNIST→SVHN": ("r26-mnist", "svhn"),
}
TRAINED = {"RG": "rg", "UDA-SS": "uda-ss", "TTT": "ttt"}  # from SVHN; all but TTT for every target anew
ROWS = (
    *("Source", "RG", "UDA-SS", "TTT", "BN"),
    *("Tent", "Tent offline", "Tent 10 epochs", "Tent offline 10 epochs", "Tent offline 100 epochs"),
    *("Oracle", "Oracle offline"),
)
FIRST = {"Tent offline 100 epochs": ("MNIST",)}  # where the paper has it; a row of hours


def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every method on every pair of source and target."""
    case = Case(SOURCE, (Data("mnist", size=SIZE),), "source", images=limit)
    tent = replace(case, method="tent", optimizer="adam", lr=1e-3)
    cases = {
        "Source": case,
        **dict.fromkeys(TRAINED, case),
        "TTT": replace(case, method="ttt"),
        "BN": replace(case, method="bn"),
        "Tent": tent,
        "Tent offline": replace(tent, when="offline"),
        "Tent 10 epochs": replace(tent, epochs=10),
        "Tent offline 10 epochs": replace(tent, when="offline", epochs=10),
        "Tent offline 100 epochs": replace(tent, when="offline", epochs=100),
        "Oracle": replace(tent, method="oracle"),
        "Oracle offline": replace(tent, method="oracle", when="offline"),
    }
    return [cell for seed in seeds for row in ROWS for cell in grid([(row, cases[row])], _columns(row, seed))]


def _columns(row: str, seed: int) -> list[tuple[str, Callable[[Case], Case]]]:
    def put(case: Case, model: str, name: str) -> Case:
        return replace(case, model=model, seed=seed, data=(Data(name, size=SIZE),))

    pairs = {column: pair for column, pair in COLUMNS.items() if column in FIRST.get(row, COLUMNS)}
    if row in TRAINED:
        targets = {column: name for column, (model, name) in COLUMNS.items() if model == SOURCE}
        pairs = {column: (_model(TRAINED[row], name), name) for column, name in targets.items()}
    return [(column, partial(put, model=model, name=name)) for column, (model, name) in pairs.items()]


def _model(method: str, target: str) -> str:
    return f"trained:{model_name(method, 'svhn', '' if method == 'ttt' else target)}"


DIGITS = Suite("digits", "Digits, R-26: SVHN to others, and MNIST to SVHN", cells, ROWS, tuple(COLUMNS), SOURCE)
