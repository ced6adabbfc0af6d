"""A table: the one form that terminal, Markdown, LaTeX and HTML are all written from."""

from dataclasses import dataclass, field
from typing import Literal

from tent.bench.read.provenance import Provenance, sentence, sentences

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
