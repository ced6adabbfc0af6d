"""A table: a grid laid out with the paper's numbers beside ours, which all of its forms are written from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tent.bench.paper import CITATION, MEAN, published
from tent.bench.read.grid import Entry, Grid, Summary, display_name
from tent.bench.read.metric import Metric
from tent.bench.read.provenance import Provenance, read_provenance, sentence, sentences
from tent.bench.read.training import budget, is_baseline, short_budget
from tent.bench.render.caption import build_caption
from tent.bench.result import Result

PART_OF_SET = re.compile(r"\(([\d,]+ of the published [\d,]+ images)\)")  # in the words of a protocol
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
    caption: tuple[str, ...]  # what the numbers are, model, data, what differs by row: a line each
    provenance: Provenance = field(default_factory=Provenance)
    trainings: tuple[str, ...] = ()  # what was spent on models that were trained for a cell
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # on the paper's numbers

    @property
    def details(self) -> list[str]:
        """The full protocol: what all results share, what is true of a row or a column alone, and trainings."""
        common = sentence(self.provenance.common)
        lines = [f"Protocol of all results: {common}."] if common else []
        groups = (self.provenance.by_row, self.provenance.by_column)
        lines += [f"{name}: {line}." for facts in groups for name, line in sentences(facts)]
        if self.provenance.varied:
            lines.append(f"Different from result to result: {sentence(self.provenance.varied)}.")
        return [*lines, *(f"{training}." for training in self.trainings)]


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
    provenance = read_provenance(grid)
    return Table(
        name=grid.file_name,
        title=grid.heading,
        corner=grid.metric.axis,
        heads=tuple(heads),
        lines=tuple(lines),
        caption=build_caption(grid, provenance),
        provenance=provenance,
        trainings=tuple(_trainings(list(grid.entries.values()))),
        notes=tuple(notes),
        remarks=_remarks(grid),
    )


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
    return _number(grid, [entry], value, _number_notes(notes, [*said, *_budgets([entry])]))


def _mean_field(grid: Grid, row: str, title: str, notes: list[str]) -> Field:
    entries, value = grid.group(row, title), grid.summary(row, title)
    if not entries:
        return Field("blank")  # a mean over fewer columns would be another number
    if value is None:
        said = ["a mean is of rows in which no column is missing or failed"]
        return Field("missing", "missing", notes=_number_notes(notes, said))
    said = [] if value.seeds == grid.seeds else [f"of {_seeds(value.seeds)} alone; the rest lack a column"]
    return _number(grid, entries, value, _number_notes(notes, [*said, *_budgets(entries)]))


def _number(grid: Grid, entries: Sequence[Entry], value: Summary, notes: tuple[int, ...]) -> Field:
    # zero where no seed could change it would read as if something had been repeated
    known = value.spread is not None and (value.spread > 0 or any(entry.depends_on_seed for entry in entries))
    spread = grid.metric.format(value.spread or 0) if known else ""
    return Field("ours", grid.metric.format(value.mean), spread, notes=notes)


def _number_notes(notes: list[str], texts: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of some notes, those that are new added to the list."""
    notes += [text for text in texts if text not in notes]
    return tuple(notes.index(text) + 1 for text in texts)


def _budgets(entries: Sequence[Entry]) -> list[str]:
    """Return in a few words how the models of some entries were trained, where that was a method of its own."""
    results, many = _trained(entries), any(entry.trainings > 1 for entry in entries)
    often = "a training for each seed" if many else "trained once"
    return list(dict.fromkeys(f"{short_budget(result.training)}; {often}" for result in results))


def _trainings(entries: Sequence[Entry]) -> list[str]:
    """Return all that was spent on those models before they answered."""
    said = (f"{each.case.model}, state {each.case.weights[:12]}: {budget(each.training)}" for each in _trained(entries))
    return list(dict.fromkeys(said))


def _trained(entries: Sequence[Entry]) -> list[Result]:
    return [result for entry in entries for result in entry.successes.values() if is_baseline(result.training)]


def _compared_data(grid: Grid, row: str, column: str) -> object:
    """Return what rows must share to be compared: the data; None of what is not compared."""
    entries = grid.group(row, column)
    if any(entry.uses_labels for entry in entries):
        return None
    return tuple((entry.case.images, entry.case.data) for entry in entries)


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
    parts = () if grid.model or grid.batch or grid.limit else published(grid.name)
    if not parts:
        return ()
    said = [f"The paper's numbers: {CITATION}, {' and '.join(part.where for part in parts)}."]
    return (*said, *_parts_of_sets(grid), *(f"{part.note[0].upper()}{part.note[1:]}." for part in parts if part.note))


def _parts_of_sets(grid: Grid) -> list[str]:
    """Say of which columns with a number of the paper's ours are of a part of the published set."""
    said = {}
    for (row, column), entry in grid.entries.items():
        for result in entry.successes.values() if grid.paper(row, column) is not None else ():
            if found := PART_OF_SET.search(str(result.protocol.get("data", ""))):
                said[column] = f"{display_name(column)}: ours are {found[1]}, the paper's all of them."
    return list(said.values())


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(str(seed) for seed in seeds)}"
