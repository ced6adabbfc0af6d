"""Part of a grid: the rows and columns that a reader names, in that order, with their numbers as they were."""

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from tent.bench.read.grid import Grid, display_name


def narrow_grid(grid: Grid, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> Grid:
    """Return a grid of some rows and columns; a mean is a column too, and stays over all columns of its own.

    Args:
        rows: names or patterns such as `Tent*`, in any case; all unless given.
        columns: the same.
    """
    chosen = find_names(grid.name, "row", rows, grid.rows) if rows else list(grid.rows)
    titles = find_names(grid.name, "column", columns, (*grid.columns, *grid.means)) if columns else None
    kept = grid.columns if titles is None else tuple(title for title in titles if title in grid.columns)
    means = {title: own for title, own in grid.means.items() if titles is None or title in titles}
    needed = {*kept, *(column for own in means.values() for column in own)}
    own = {place: entry for place, entry in grid.entries.items() if place[0] in chosen}
    return replace(
        grid,
        rows=tuple(chosen),
        columns=kept,
        means=means,
        entries={place: entry for place, entry in own.items() if place[1] in needed},
        hidden={place: entry for place, entry in own.items() if place[1] not in needed},
    )


def split_names(text: str, known: Sequence[str]) -> list[str]:
    """Return the names in a text with commas, where a name that is known may have commas of its own."""
    parts, names = [part.strip() for part in text.split(",")], []
    while parts:
        lengths = (n for n in range(len(parts), 0, -1) if _matches(", ".join(parts[:n]), known))
        taken = next(lengths, 1)
        names.append(", ".join(parts[:taken]))
        parts = parts[taken:]
    return [name for name in names if name]


def find_names(suite: str, what: str, wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the rows or columns that names and patterns mean, in the order wanted; refuse what means none."""
    found: list[str] = []
    for text in wanted:
        for name in split_names(text, known):
            if not (own := _matches(name, known)):
                names = [display_name(each) for each in known]
                there = ("; " if any("," in each for each in names) else ", ").join(names)
                raise ValueError(f"{suite} has no {what} {name!r}; it has {there}")
            found += [each for each in own if each not in found]
    return found


def _matches(name: str, known: Sequence[str]) -> list[str]:
    own = _plain(name)
    return [each for each in known if _plain(each) == own or fnmatchcase(_plain(each), own)]


def _plain(name: str) -> str:
    return display_name(name).casefold()
