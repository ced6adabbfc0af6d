"""What a grid's numbers come with, in their results' own words: what all share, and what differs by row or column."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tent.bench.read.grid import Grid, display_name
from tent.bench.read.training import is_baseline

Facts = Mapping[str, str]  # such as reset: before the stream
NOTES = ("model", "training")  # of a model that was trained for its cell: the cell's note says them
MOST = 4  # of values that follow neither row nor column, so many are named


@dataclass(frozen=True)
class Provenance:
    """Facts by where they hold; nothing is said that a result did not say of itself."""

    common: Facts = field(default_factory=dict)
    by_row: Mapping[str, Facts] = field(default_factory=dict)
    by_column: Mapping[str, Facts] = field(default_factory=dict)
    varied: Facts = field(default_factory=dict)  # follows neither alone: its values, or the first of them


@dataclass(frozen=True)
class _Value:
    row: str
    column: str
    text: str


def read_provenance(grid: Grid) -> Provenance:
    """Sort the protocols of a grid's results by whether all say the same, or each row, or each column."""
    common: dict[str, str] = {}
    varied: dict[str, str] = {}
    by_row: dict[str, dict[str, str]] = {}
    by_column: dict[str, dict[str, str]] = {}
    for fact, values in _values_by_fact(grid).items():
        if (one := _text_by(values, lambda _: "")) is not None:
            common[fact] = one[""]
        elif (rows := _text_by(values, lambda value: value.row)) is not None:
            for row, text in rows.items():
                by_row.setdefault(row, {})[fact] = text
        elif (columns := _text_by(values, lambda value: value.column)) is not None:
            for column, text in columns.items():
                by_column.setdefault(column, {})[fact] = text
        else:
            texts = list(dict.fromkeys(value.text for value in values))
            more = [f"and {len(texts) - MOST} more"] if len(texts) > MOST else []
            varied[fact] = " / ".join(texts[:MOST] + more)
    return Provenance(common, by_row, by_column, varied)


def sentence(facts: Facts) -> str:
    """Return facts as one line, such as `order: shuffled; reset: between types`."""
    return "; ".join(f"{fact}: {text}" for fact, text in facts.items() if text)


def sentences(facts: Mapping[str, Facts]) -> list[tuple[str, str]]:
    """Return each name's facts as one line; names with the same facts share it."""
    lines: dict[str, list[str]] = {}
    for name, own in facts.items():
        if line := sentence(own):
            lines.setdefault(line, []).append(display_name(name))
    return [(", ".join(names), line) for line, names in lines.items()]


def _values_by_fact(grid: Grid) -> dict[str, list[_Value]]:
    facts = dict.fromkeys(fact for result in grid.results for fact in result.protocol)
    values: dict[str, list[_Value]] = {fact: [] for fact in facts}
    has_notes = any(is_baseline(result.training) for result in grid.results)
    for (row, column), entry in grid.entries.items():
        for seed, result in entry.successes.items():
            for fact in facts:
                if is_baseline(result.training) and fact in NOTES:
                    continue
                text = str(result.protocol.get(fact, ""))  # a fact that some leave out is not common to all
                if has_notes and fact == "model":
                    text += ", unless a note names another"
                if len(grid.seeds) > 1:
                    text = re.sub(rf"\bshuffled by seed {seed}\b", "shuffled by its seed", text)
                if len(grid.columns) > 1:
                    text = re.sub(rf"\b{re.escape(column)}\b", "[its column]", text)
                values[fact].append(_Value(row, column, text))
    return {display_name(fact): own for fact, own in values.items() if any(each.text for each in own)}


def _text_by(values: list[_Value], place: Callable[[_Value], str]) -> dict[str, str] | None:
    """Return the text of each place; None if one place has two."""
    texts: dict[str, str] = {}
    for value in values:
        if texts.setdefault(place(value), value.text) != value.text:
            return None
    return texts
