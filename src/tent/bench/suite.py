"""Suites: a table as a list of cells, each of one case; a choice that some of its cases wait for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tent.bench.case import Case


@dataclass(frozen=True)
class Cell:
    """A case and its place in a table; the cells of several seeds share a place."""

    row: str
    column: str
    case: Case


@dataclass(frozen=True)
class Choice:
    """An option that is chosen by running cases on data that the table does not have."""

    option: str
    cells: Callable[[int | None], list[Cell]]  # images limit -> one cell a candidate and column; the row is its name


@dataclass(frozen=True)
class Suite:
    """A table: where its cells come from, and what its reader must know."""

    name: str
    title: str
    cells: Callable[[Sequence[int], int | None], list[Cell]]  # (seeds, images limit); options may be undecided
    rows: tuple[str, ...]  # in order, as are the columns
    columns: tuple[str, ...]
    model: str  # that the cells name, and another may take the place of
    means: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # title -> columns, where a mean makes sense
    choice: Choice | None = None

    def with_model(self, model: str) -> "Suite":
        """Return the same table of another model."""

        def renamed(cells: list[Cell]) -> list[Cell]:
            return [
                replace(cell, case=replace(cell.case, model=model)) if cell.case.model == self.model else cell
                for cell in cells
            ]

        choice = self.choice
        if choice is not None:
            candidates = choice.cells
            choice = replace(choice, cells=lambda limit: renamed(candidates(limit)))
        return replace(self, model=model, cells=lambda seeds, limit: renamed(self.cells(seeds, limit)), choice=choice)


def grid(rows: Sequence[tuple[str, Case]], columns: Sequence[tuple[str, Callable[[Case], Case]]]) -> list[Cell]:
    """Return the cells of a table: every row's case, as every column alters it."""
    return [Cell(row, column, alter(case)) for row, case in rows for column, alter in columns]
