"""A table: a grid as it is read, ours beside the paper's, best in bold, with notes on what is missing or failed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tent.bench.paper import CITATION, MEAN, published
from tent.bench.read.grid import Entry, Figure, Grid
from tent.bench.read.terms import Terms, shown, terms
from tent.bench.read.training import altered, budget

WIDE = 6  # a table of more columns than rows, and of more than this, is read down its columns
Kind = Literal["ours", "paper", "missing", "failed", "blank"]


@dataclass(frozen=True)
class Piece:
    """One field of a table: a number with its spread, or a word, and the notes it points to."""

    kind: Kind
    text: str = ""
    spread: str = ""
    bold: bool = False
    notes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Line:
    """A line of a table; its head names it, and `ruled` sets it apart from the lines above."""

    head: str
    pieces: tuple[Piece, ...]
    ruled: bool = False


@dataclass(frozen=True)
class Table:
    """What every form of a table is written from."""

    name: str
    title: str
    corner: str
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    measure: str  # what the numbers are
    terms: Terms
    notes: tuple[str, ...]
    remarks: tuple[str, ...]  # on the paper's figures


@dataclass
class _Notes:
    texts: list[str] = field(default_factory=list)

    def of(self, *texts: str) -> tuple[int, ...]:
        self.texts += [text for text in texts if text not in self.texts]
        return tuple(self.texts.index(text) + 1 for text in texts)


def table(grid: Grid) -> Table:
    """Lay a grid out, down its columns if there are many, with the paper's figures next to ours."""
    notes = _Notes()
    series = {column: _ours(grid, column, notes) for column in grid.columns}
    series |= {title: [_mean(grid, row, title, notes) for row in grid.rows] for title in grid.means}
    lines: list[Line] = []
    for column, pieces in series.items():
        best = _best(pieces, [_rivals(grid, row, column) for row in grid.rows])
        lines.append(Line(shown(column), best, ruled=column == next(iter(grid.means), None)))
        paper = [grid.paper(row, column) for row in grid.rows]
        if any(value is not None for value in paper):
            name = "the paper's mean" if column == MEAN else f"{shown(column)}, paper"
            lines.append(Line(name, tuple(Piece("blank") if p is None else Piece("paper", f"{p:.1f}") for p in paper)))
    heads, corner = [shown(row) for row in grid.rows], "error (%)"
    if not (len(grid.columns) > WIDE and len(grid.columns) > len(grid.rows)):
        heads, lines = [line.head for line in lines], _turned(lines, heads)
    say, words = measure(grid.seeds), terms(grid)
    return Table(
        grid.file, grid.heading, corner, tuple(heads), tuple(lines), say, words, tuple(notes.texts), _remarks(grid)
    )


def measure(seeds: Sequence[int]) -> str:
    """Say what a number of the table is."""
    names = ", ".join(str(seed) for seed in seeds)
    if len(seeds) == 1:
        return f"Error in percent, lower is better, best in bold; one seed ({names}), so no spread is known."
    return (
        f"Error in percent, lower is better, best in bold; mean ± standard deviation (n − 1) over "
        f"{len(seeds)} seeds ({names})."
    )


def percent(value: Figure) -> tuple[str, str]:
    """Return a figure and its spread in percent, as they are printed."""
    return f"{100 * value.mean:.2f}", "" if value.spread is None else f"{100 * value.spread:.2f}"


def _ours(grid: Grid, column: str, notes: _Notes) -> list[Piece]:
    return [_piece(grid.entries.get((row, column)), notes) for row in grid.rows]


def _piece(entry: Entry | None, notes: _Notes) -> Piece:
    if entry is None:
        return Piece("blank")
    reasons: dict[str, list[int]] = {}
    for seed, error in entry.failures.items():
        reasons.setdefault(" ".join(error.split()), []).append(seed)
    told = [f"failed, {_seeds(seeds)}: {error}" for error, seeds in reasons.items()]
    value = entry.figure()
    if value is None and not told:
        return Piece("missing", "missing")
    if entry.missing:
        told.append(f"{_seeds(entry.missing)} missing")
    if value is None:
        return Piece("failed", "failed", notes=notes.of(*told))
    return Piece("ours", *percent(value), notes=notes.of(*told, *_trainings([entry])))


def _mean(grid: Grid, row: str, title: str, notes: _Notes) -> Piece:
    entries, value = grid.group(row, title), grid.row_mean(row, title)
    if not entries:
        return Piece("blank")  # a mean over fewer columns would be another number
    if value is None:
        return Piece("missing", "missing", notes=notes.of("a mean is of rows in which no column is missing or failed"))
    told = [] if value.seeds == grid.seeds else [f"of {_seeds(value.seeds)} alone; the rest lack a column"]
    return Piece("ours", *percent(value), notes=notes.of(*told, *_trainings(entries)))


def _trainings(entries: Sequence[Entry]) -> list[str]:
    """Return what was spent on the models of some entries before they answered, where that was a method of its own."""
    results = [result for entry in entries for result in entry.done.values() if altered(result.training)]
    said = (f"{result.case.model}, state {result.case.weights[:12]}: {budget(result.training)}" for result in results)
    return list(dict.fromkeys(said))


def _rivals(grid: Grid, row: str, column: str) -> object:
    """Return what rows must share to be compared: the data; None of what is not compared."""
    entries = grid.group(row, column)
    return None if any(entry.bound for entry in entries) else tuple(entry.case.data for entry in entries)


def _best(pieces: Sequence[Piece], data: Sequence[object]) -> tuple[Piece, ...]:
    """Mark the least among the rows that were answered on the same data, where there are several."""
    numbers: dict[object, list[float]] = {None: []}
    for piece, own in zip(pieces, data, strict=True):
        if piece.kind == "ours" and own is not None:
            numbers.setdefault(own, []).append(float(piece.text))
    # compared as printed: two numbers that look alike are both best
    return tuple(
        replace(piece, bold=piece.kind == "ours" and len(numbers[own]) > 1 and float(piece.text) == min(numbers[own]))
        for piece, own in zip(pieces, data, strict=True)
    )


def _turned(lines: list[Line], heads: list[str]) -> list[Line]:
    return [Line(head, tuple(line.pieces[i] for line in lines)) for i, head in enumerate(heads)]


def _remarks(grid: Grid) -> tuple[str, ...]:
    parts = () if grid.model else published(grid.name)
    if not parts:
        return ()
    said = [f"The paper's figures: {CITATION}, {' and '.join(part.where for part in parts)}."]
    if grid.limit is not None:
        said.append(f"Ours are of the first {grid.limit:,} images of each stream, the paper's of all of them.")
    for part in parts:
        if part.note:
            said.append(f"{part.note[0].upper()}{part.note[1:]}.")
    return tuple(said)


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(str(seed) for seed in seeds)}"
