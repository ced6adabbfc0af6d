"""Suites: a table as a list of cells, each of one case; a choice that some of its cases wait for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tent.bench.case import METHODS, Case
from tent.bench.frozen_json import to_plain
from tent.bench.result import Result


@dataclass(frozen=True)
class Cell:
    """A case and its place in a table; the cells of several seeds share a place."""

    row: str
    column: str
    case: Case
    domain: str = ""  # the part of the case's stream that the number is of; all of it without


@dataclass(frozen=True)
class Choice:
    """An option that is chosen by running cases on data that the table does not have."""

    option: str
    suite: str  # that shows the candidates; the name by which cases leave the option to this choice
    cells: Callable[[int | None], list[Cell]]  # images limit -> one cell a candidate and column; the row is its name
    how: Mapping[str, Any] = field(default_factory=dict)  # in words, for the results' provenance

    def decide(self, cells: Sequence[Cell], results: Mapping[Case, Result]) -> tuple[Any, dict[str, Any]]:
        """Return the value of the best mean of the task's metric, the first in a tie, and how it was chosen.

        Args:
            cells: the candidates, pinned.
            results: of the candidates' cells, by their case.
        """
        errors: dict[str, list[float]] = {}
        values: dict[str, Any] = {}
        for cell in cells:
            result = results.get(cell.case)
            if result is None or result.error is not None:
                why = result.error if result else "it was not run"
                raise ValueError(f"{self.option} could not be chosen: {cell.row} on {cell.column} failed ({why})")
            value = cell.case.options[self.option]
            values.setdefault(f"{value:g}", value)
            errors.setdefault(f"{value:g}", []).append(result.metrics[cell.case.task_type.primary])
        means = {name: sum(each) / len(each) for name, each in errors.items()}
        sign = -1 if cells[0].case.task_type.higher_is_better else 1
        best = min(means, key=lambda name: sign * means[name])
        return values[best], to_plain({"suite": self.suite, **self.how, "errors": means})


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
    only_means: bool = False  # whether its columns are shown by their means alone, since they are many
    batch_rows: tuple[str, ...] = ()  # rows that are about a batch size, and keep theirs
    compares_models: bool = False  # whether its rows are models
    asked_for: bool = False  # whether its model took the place of the suite's own

    def with_batch(self, size: int) -> "Suite":
        """Return the same table at another batch size; rows about a size, single images among them, keep theirs."""

        def keeps(cell: Cell) -> bool:
            return cell.case.batch_size == 1 or cell.row in self.batch_rows

        if all(keeps(cell) for cell in self.cells((0,), None)):
            raise ValueError(f"{self.name} is of single images alone; leave out --batch {size}")

        def resize(cells: list[Cell]) -> list[Cell]:
            return [cell if keeps(cell) else replace(cell, case=replace(cell.case, batch_size=size)) for cell in cells]

        return self._with_cells(resize)

    def with_model(self, model: str) -> "Suite":
        """Return the same table of another model, without the rows and columns of models beside the suite's own."""
        if self.compares_models:
            raise ValueError(f"{self.name} compares models, and has no one place for {model}; leave out --model")

        def rename(cells: list[Cell]) -> list[Cell]:
            own = [cell for cell in cells if cell.case.model == self.model]
            return [replace(cell, case=replace(cell.case, model=model)) for cell in own]

        suite = replace(self._with_cells(rename), model=model, asked_for=True, title=self.title.replace(", R-26", ""))
        present = {cell.row for cell in suite.cells((0,), None)}
        return replace(suite, rows=tuple(row for row in self.rows if row in present))

    def with_rows(self, rows: Sequence[str]) -> "Suite":
        """Return the table of these rows alone; the candidates of its choice stay."""

        def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
            return [cell for cell in self.cells(seeds, limit) if cell.row in rows]

        return replace(self, rows=tuple(rows), cells=cells)

    def with_method(self, method: str) -> "Suite":
        """Return the table with a row of another method, in its own settings, beside each of Tent's plain rows."""
        name = METHODS[method].__name__ if method in METHODS else method.rpartition(":")[2]  # its file is not loaded
        # as the table has it by severity or half; where it has no plain Tent, its offline one
        beside = [row for row in self.rows if row.split(",")[0] == "Tent"]
        beside = beside or [row for row in self.rows if row.split(",")[0] == "Tent offline"]
        added = {row: row.replace("Tent", name, 1) for row in beside}
        if not added:
            raise ValueError(f"{self.name} has no row of Tent, which {method} would stand beside")
        if taken := set(added.values()) & set(self.rows):
            raise ValueError(f"{self.name} has a row {min(taken)} already")

        def put(case: Case) -> Case:
            return replace(case, method=method, optimizer=None, lr=None, momentum=None)

        def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
            own = self.cells(seeds, limit)
            return [*own, *(replace(c, row=added[c.row], case=put(c.case)) for c in own if c.row in added)]

        rows = tuple(each for row in self.rows for each in (row, added.get(row)) if each is not None)
        return replace(self, rows=rows, cells=cells)

    def _with_cells(self, change: Callable[[list[Cell]], list[Cell]]) -> "Suite":
        """Return the table with its cells changed, those of its choice too."""
        choice = self.choice
        if choice is not None:
            candidates = choice.cells
            choice = replace(choice, cells=lambda limit: change(candidates(limit)))
        return replace(self, cells=lambda seeds, limit: change(self.cells(seeds, limit)), choice=choice)


def grid(rows: Sequence[tuple[str, Case]], columns: Sequence[tuple[str, Callable[[Case], Case]]]) -> list[Cell]:
    """Return the cells of a table: every row's case, as every column alters it."""
    return [Cell(row, column, alter(case)) for row, case in rows for column, alter in columns]
