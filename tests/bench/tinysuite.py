"""A suite of two rows and two columns, and a store of it whose sums can be done by hand."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from readings import kept, result

from tent.bench.case import Case, Data
from tent.bench.store import Store
from tent.bench.suite import Cell, Suite

ERRORS: Mapping[tuple[str, str], tuple[float, ...]] = {  # by row and column, one a seed
    ("first", "one"): (0.10, 0.12, 0.14),
    ("first", "two"): (0.20, 0.20, 0.20),
    ("second", "one"): (0.11, 0.11, 0.11),
    ("second", "two"): (0.30, 0.33, 0.36),
}


def tiny(
    rows: Sequence[str] = ("first", "second"), columns: Sequence[str] = ("one", "two"), title: str = "A tiny suite"
) -> Suite:
    """Return a suite whose first row is BN, and whose others are Tent."""

    def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
        return [
            Cell(row, column, Case(f"net-{i}", (Data(f"set-{j}"),), "tent" if i else "bn", images=limit, seed=seed))
            for seed in seeds
            for i, row in enumerate(rows)
            for j, column in enumerate(columns)
        ]

    return Suite("tiny", title, cells, tuple(rows), tuple(columns), "net-0", means={"mean": tuple(columns)})


def stored(folder: Path, suite: Suite | None = None, keep: Callable[[Cell], bool] = lambda cell: True) -> Store:
    """Return a store of the tiny suite's results under three seeds, those that are to be kept."""
    suite = suite or tiny()
    names = (
        dict(zip(suite.rows, ("first", "second"), strict=True)),
        dict(zip(suite.columns, ("one", "two"), strict=True)),
    )
    cells = [cell for cell in suite.cells((0, 1, 2), None) if keep(cell)]
    errors = [ERRORS[names[0][cell.row], names[1][cell.column]][cell.case.seed] for cell in cells]
    return kept(folder, *(result(cell.case, error) for cell, error in zip(cells, errors, strict=True)))
