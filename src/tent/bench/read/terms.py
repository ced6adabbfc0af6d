"""The terms that a grid's numbers were got on, in its results' own words: what all share, and what differs by what."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tent.bench.read.grid import Grid
from tent.bench.read.training import altered

Words = Mapping[str, str]
NOTED = ("model", "training")  # of a model that was trained for its cell: the cell's note says them
SHOWN = 4  # of values that follow neither row nor column, so many are named


@dataclass(frozen=True)
class Terms:
    """Words by where they hold; nothing is said that a result did not say of itself."""

    common: Words
    by_row: Mapping[str, Words]
    by_column: Mapping[str, Words]
    varied: Words  # follows neither alone: its values, or the first of them


@dataclass(frozen=True)
class _Said:
    row: str
    column: str
    value: str


def terms(grid: Grid) -> Terms:
    """Sort the protocols of a grid's results by whether all say the same, or each row, or each column."""
    common: dict[str, str] = {}
    varied: dict[str, str] = {}
    by_row: dict[str, dict[str, str]] = {}
    by_column: dict[str, dict[str, str]] = {}
    for word, said in _sayings(grid).items():
        if (one := _by(said, lambda _: "")) is not None:
            common[word] = one[""]
        elif (rows := _by(said, lambda saying: saying.row)) is not None:
            for row, value in rows.items():
                by_row.setdefault(row, {})[word] = value
        elif (columns := _by(said, lambda saying: saying.column)) is not None:
            for column, value in columns.items():
                by_column.setdefault(column, {})[word] = value
        else:
            varied[word] = _list([saying.value for saying in said])
    return Terms(common, by_row, by_column, varied)


def sentence(words: Words) -> str:
    """Return words as one line, such as `order: shuffled; reset: between types`."""
    return "; ".join(f"{word}: {value}" for word, value in words.items() if value)


def spoken(words: Mapping[str, Words]) -> list[tuple[str, str]]:
    """Return what each name has to say as one line; names that say the same share it."""
    lines: dict[str, list[str]] = {}
    for name, own in words.items():
        if line := sentence(own):
            lines.setdefault(line, []).append(shown(name))
    return [(", ".join(names), line) for line, names in lines.items()]


def shown(name: str) -> str:
    """Return a name as it is read: gaussian_noise is gaussian noise."""
    return name.replace("_", " ")


def _sayings(grid: Grid) -> dict[str, list[_Said]]:
    words = dict.fromkeys(word for result in grid.results for word in result.protocol)
    found: dict[str, list[_Said]] = {word: [] for word in words}
    noted = any(altered(result.training) for result in grid.results)
    for (row, column), entry in grid.entries.items():
        for seed, result in entry.done.items():
            for word in words:
                if altered(result.training) and word in NOTED:
                    continue
                value = str(result.protocol.get(word, ""))  # a word that some leave out is not common to all
                if noted and word == "model":
                    value += ", unless a note names another"
                if len(grid.seeds) > 1:
                    value = re.sub(rf"\bshuffled by seed {seed}\b", "shuffled by its seed", value)
                if len(grid.columns) > 1:
                    value = re.sub(rf"\b{re.escape(column)}\b", "[its column]", value)
                found[word].append(_Said(row, column, value))
    return {shown(word): said for word, said in found.items() if said}


def _by(said: list[_Said], of: Callable[[_Said], str]) -> dict[str, str] | None:
    values: dict[str, str] = {}
    for saying in said:
        if values.setdefault(of(saying), saying.value) != saying.value:
            return None
    return values


def _list(values: list[str]) -> str:
    unlike = list(dict.fromkeys(values))
    rest = len(unlike) - SHOWN
    return " / ".join(unlike[:SHOWN]) + (f" / and {rest} more" if rest > 0 else "")
