"""Digits: from SVHN to MNIST, MNIST-M and USPS, and from MNIST to SVHN, where the paper finds that Tent fails."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tent.bench.case import Case, Data
from tent.bench.suite import Cell, Suite, grid

SOURCE = "r26-svhn"
SIZE = 32  # of SVHN, which the source model was trained on
COLUMNS = {
    "MNIST": (SOURCE, "mnist"),
    "MNIST-M": (SOURCE, "mnist-m"),
    "USPS": (SOURCE, "usps"),
    "MNIST→SVHN": ("r26-mnist", "svhn"),
}
ROWS = ("Source", "BN", "Tent", "Tent offline", "Tent 10 epochs", "Tent offline 10 epochs")


def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every method on every pair of source and target."""
    case = Case(SOURCE, Data("mnist", size=SIZE), "source", images=limit)
    tent = replace(case, method="tent", optimizer="adam", lr=1e-3)
    cases = (
        case,
        replace(case, method="bn"),
        tent,
        replace(tent, when="offline"),
        replace(tent, epochs=10),
        replace(tent, when="offline", epochs=10),
    )
    rows = list(zip(ROWS, cases, strict=True))
    return [cell for seed in seeds for cell in grid(rows, _columns(seed))]


def _columns(seed: int) -> list[tuple[str, Callable[[Case], Case]]]:
    def put(case: Case, model: str, name: str) -> Case:
        return replace(case, model=model, seed=seed, data=Data(name, size=SIZE))

    return [(column, partial(put, model=model, name=name)) for column, (model, name) in COLUMNS.items()]


DIGITS = Suite("digits", "Digits, R-26: SVHN to others, and MNIST to SVHN", cells, ROWS, tuple(COLUMNS), SOURCE)
