"""A table: a grid laid out with the paper's numbers beside ours, which all of its forms are written from."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tent.bench.paper import CITATION, MEAN, published
from tent.bench.read.grid import Entry, Grid, Summary, display_name
from tent.bench.read.metric import Metric
from tent.bench.read.provenance import Provenance, read_provenance, sentence, sentences
from tent.bench.read.training import budget, is_baseline

WIDE = 6  # a table of more columns than rows, and of more than this, is read down its columns
Kind = Literal["ours", "paper", "missing", "failed", "blank"]


@dataclass(frozen=True)
class Field:
    """One field of a table: a number with its spread, or a word, and the notes it points to."""

    kind: Kind
    text: str = ""
    spread: str = ""
    bold: bool = False
    notes: tuple[int, ...] = ()

    @property
    def marks(self) -> str:
        """The numbers of its notes, with commas."""
        return ",".join(str(note) for note in self.notes)


@dataclass(frozen=True)
class Line:
    """A line of a table; its head names it, and `ruled` sets it apart from the lines above."""

    head: str
    fields: tuple[Field, ...]
    ruled: bool = False


@dataclass(frozen=True)
class Table:
    """Lines under heads, and the words around them."""

    name: str
    title: str
    corner: str
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    measure: str  # what the numbers are
    provenance: Provenance = field(default_factory=Provenance)
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # on the paper's numbers

    @property
    def caption(self) -> str:
        """What is true of the whole table: what its numbers are, and the protocol that all results share."""
        common = sentence(self.provenance.common)
        return f"{self.measure} Protocol of all results: {common}." if common else self.measure

    @property
    def all_remarks(self) -> list[str]:
        """What is true of a row or a column alone, and what is to be known of the paper's numbers."""
        groups = (self.provenance.by_row, self.provenance.by_column)
        lines = [f"{name}: {line}." for facts in groups for name, line in sentences(facts)]
        if self.provenance.varied:
            lines.append(f"Different from result to result: {sentence(self.provenance.varied)}.")
        return [*lines, *self.remarks]


def build_table(grid: Grid) -> Table:
    """Lay a grid out, down its columns if there are many, with the paper's numbers next to ours."""
    notes: list[str] = []
    lines: list[Line] = []
    ruled = None if grid.only_means else next(iter(grid.means), None)
    for title in grid.titles:
        make = _mean_field if title in grid.means else _field
        fields = [make(grid, row, title, notes) for row in grid.rows]
        best = _mark_best(grid.metric, fields, [_compared_data(grid, row, title) for row in grid.rows])
        lines.append(Line(display_name(title), best, ruled=title == ruled))
        paper = [grid.paper(row, title) for row in grid.rows]
        if any(value is not None for value in paper):
            name = "the paper's mean" if title == MEAN else f"{display_name(title)}, paper"
            lines.append(Line(name, tuple(Field("blank") if p is None else Field("paper", f"{p:.1f}") for p in paper)))
    heads = [display_name(row) for row in grid.rows]
    wide = len(grid.means if grid.only_means else grid.columns)
    if not (wide > WIDE and wide > len(grid.rows)):
        heads, lines = [line.head for line in lines], _transpose(lines, heads)
    return Table(
        name=grid.file_name,
        title=grid.heading,
        corner=grid.metric.axis,
        heads=tuple(heads),
        lines=tuple(lines),
        measure=_measure(grid),
        provenance=read_provenance(grid),
        notes=tuple(notes),
        remarks=_remarks(grid),
    )


def _measure(grid: Grid) -> str:
    """Say what a number of the table is."""
    names = ", ".join(str(seed) for seed in grid.seeds)
    spread = f"mean ± standard deviation (n − 1) over {len(grid.seeds)} seeds ({names})"
    if len(grid.seeds) == 1:
        spread = f"one seed ({names}), so no spread is known"
    return f"{grid.metric.description}, best in bold; {spread}."


def _field(grid: Grid, row: str, column: str, notes: list[str]) -> Field:
    entry = grid.entries.get((row, column))
    if entry is None:
        return Field("blank")
    reasons: dict[str, list[int]] = {}
    for seed, error in entry.failures.items():
        reasons.setdefault(" ".join(error.split()), []).append(seed)
    said = [f"failed, {_seeds(seeds)}: {error}" for error, seeds in reasons.items()]
    if lacking := [seed for seed in entry.successes if seed not in entry.values(grid.metric.name)]:
        said.append(f"{_seeds(lacking)} without {grid.metric.label}")
    value = grid.summary(row, column)
    if entry.missing_seeds and (said or value is not None):
        said.append(f"{_seeds(entry.missing_seeds)} missing")
    if value is None:
        kind: Kind = "failed" if entry.failures else "missing"
        return Field(kind, kind, notes=_number_notes(notes, said))
    return _number(grid.metric, value, _number_notes(notes, [*said, *_budgets([entry])]))


def _mean_field(grid: Grid, row: str, title: str, notes: list[str]) -> Field:
    entries, value = grid.group(row, title), grid.summary(row, title)
    if not entries:
        return Field("blank")  # a mean over fewer columns would be another number
    if value is None:
        said = ["a mean is of rows in which no column is missing or failed"]
        return Field("missing", "missing", notes=_number_notes(notes, said))
    said = [] if value.seeds == grid.seeds else [f"of {_seeds(value.seeds)} alone; the rest lack a column"]
    return _number(grid.metric, value, _number_notes(notes, [*said, *_budgets(entries)]))


def _number(metric: Metric, value: Summary, notes: tuple[int, ...]) -> Field:
    spread = "" if value.spread is None else metric.format(value.spread)
    return Field("ours", metric.format(value.mean), spread, notes=notes)


def _number_notes(notes: list[str], texts: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of some notes, those that are new added to the list."""
    notes += [text for text in texts if text not in notes]
    return tuple(notes.index(text) + 1 for text in texts)


def _budgets(entries: Sequence[Entry]) -> list[str]:
    """Return what was spent on the models of some entries before they answered, where that was a method of its own."""
    results = [result for entry in entries for result in entry.successes.values() if is_baseline(result.training)]
    said = (f"{result.case.model}, state {result.case.weights[:12]}: {budget(result.training)}" for result in results)
    return list(dict.fromkeys(said))


def _compared_data(grid: Grid, row: str, column: str) -> object:
    """Return what rows must share to be compared: the data; None of what is not compared."""
    entries = grid.group(row, column)
    return None if any(entry.uses_labels for entry in entries) else tuple(entry.case.data for entry in entries)


def _mark_best(metric: Metric, fields: Sequence[Field], data: Sequence[object]) -> tuple[Field, ...]:
    """Mark the best among the rows that were answered on the same data, where there are several."""
    numbers: dict[object, list[float]] = {}
    for each, own in zip(fields, data, strict=True):
        if each.kind == "ours" and own is not None:
            numbers.setdefault(own, []).append(float(each.text))
    # compared as printed: two numbers that look alike are both best
    best = {own: metric.best(values) for own, values in numbers.items() if len(values) > 1}
    return tuple(
        replace(each, bold=each.kind == "ours" and own in best and float(each.text) == best[own])
        for each, own in zip(fields, data, strict=True)
    )


def _transpose(lines: list[Line], heads: list[str]) -> list[Line]:
    return [Line(head, tuple(line.fields[i] for line in lines)) for i, head in enumerate(heads)]


def _remarks(grid: Grid) -> tuple[str, ...]:
    parts = () if grid.model or grid.batch else published(grid.name)
    if not parts:
        return ()
    said = [f"The paper's numbers: {CITATION}, {' and '.join(part.where for part in parts)}."]
    if grid.limit is not None:
        said.append(f"Ours are of the first {grid.limit:,} images of each stream, the paper's of all of them.")
    return (*said, *(f"{part.note[0].upper()}{part.note[1:]}." for part in parts if part.note))


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(str(seed) for seed in seeds)}"
