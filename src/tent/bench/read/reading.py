"""Reading: a suite's cells matched with what a store holds of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tent.bench.case import Case
from tent.bench.read.grid import Entry, Grid
from tent.bench.read.hashes import Kept, settled
from tent.bench.result import Result
from tent.bench.store import Store
from tent.bench.suite import Cell, Suite


@dataclass(frozen=True)
class Wanted:
    """Which of a store's results a table is of; all that are there, unless said."""

    seeds: tuple[int, ...] = ()
    limit: int | None = None  # images a stream, as `tent bench --limit` was given
    hashes: tuple[str, ...] = ()  # how the hash of the weights (or of the data) begins, where there are several
    model: str = ""  # that took the place of the suite's own


def opened(folder: Path) -> tuple[list[Result], list[str]]:
    """Return every whole result of a store, and a line on each file that is not one; none at all is an error."""
    damaged: list[str] = []
    store = Store(folder, damaged.append)
    results = []
    for result in store.all():
        if result.error is None and not result.complete:
            damaged.append(f"{store.path(result.case).name} has not all of its numbers; passed over")
        else:
            results.append(result)
    if not results:
        why = f"; {damaged[0]}" if damaged else ""
        raise ValueError(f"no results in {folder}{why}; run a suite first, such as: tent bench cifar10-c")
    return results, damaged


def read(suite: Suite, results: Iterable[Result], wanted: Wanted | None = None) -> Grid:
    """Return a suite's grid; a ValueError says what to do if the store has nothing of it, or more than one answer."""
    wanted, kept = wanted or Wanted(), by_case(results)
    if suite.cells((0,), wanted.limit) == suite.cells((0,), None):
        wanted = replace(wanted, limit=None)  # more images than the suite asks for
    suite = suite.with_model(wanted.model) if wanted.model else suite
    there = present(suite, kept, wanted.limit, wanted.seeds)
    if not there:
        raise ValueError(_nothing(suite, kept, wanted))
    found = settled(suite.name, {case: kept[case] for case in there}, wanted.hashes)
    wanted = replace(wanted, seeds=wanted.seeds or tuple(sorted({case.seed for case in there})))
    return _grid(suite, suite.cells(wanted.seeds, wanted.limit), found, wanted)


def by_case(results: Iterable[Result]) -> Kept:
    """Return results by the case that a suite would name, whatever hashes they are tied to."""
    kept: Kept = {}
    for result in results:
        for case in result.suite_cases:
            kept.setdefault(case, []).append(result)
    return kept


def present(suite: Suite, kept: Kept, limit: int | None = None, seeds: Sequence[int] = ()) -> set[Case]:
    """Return the cases of a suite that a store has results of, of these seeds or of any."""
    seeds = seeds or sorted({case.seed for case in kept})
    return {case for case in (cell.case.unpin() for cell in suite.cells(seeds, limit)) if case in kept}


def limits(suite: Suite, kept: Kept) -> list[int | None]:
    """Return the limits on images under which a store has results of a suite; None is the suite's own size."""
    found: list[int | None] = []
    seen: set[Case] = set()
    for limit in (None, *sorted({case.images for case in kept if case.images is not None})):
        if there := present(suite, kept, limit) - seen:  # a limit that is the suite's own size is nothing new
            found.append(limit)
            seen |= there
    return found


def grids(suites: Iterable[Suite], results: Sequence[Result], hashes: tuple[str, ...] = ()) -> list[Grid]:
    """Return every table that a store has something of its own for.

    Suites share cases, so what one has may stand in others too: a suite at its own size and with its own model comes
    before others, and one that has nothing but what those before it show is left out.
    """
    kept, suites = by_case(results), list(suites)
    models = sorted({case.model for case in kept})
    sizes = sorted({case.images for case in kept if case.images is not None})
    tries: list[tuple[Suite, str, int | None]] = [(suite, "", None) for suite in suites]
    tries += [(suite, model, None) for suite in suites for model in models if model != suite.model]
    tries += [(suite, model, size) for size in sizes for suite, model, _ in list(tries)]
    found: list[Grid] = []
    shown: set[Case] = set()
    for suite, model, limit in tries:
        there = present(suite.with_model(model) if model else suite, kept, limit)
        if there - shown:
            wanted = Wanted(limit=limit, hashes=_known(kept, there, hashes), model=model)
            found.append(read(suite, results, wanted))
            shown |= there
    return found


def _known(kept: Kept, there: set[Case], hashes: tuple[str, ...]) -> tuple[str, ...]:
    # a hash that was picked for one suite may be none of another's
    cases = [result.case for case in there for result in kept[case]]
    own = {value for case in cases for value in (case.weights, *(data.sha256 for data in case.data))}
    return tuple(start for start in hashes if any(value.startswith(start) for value in own))


def _grid(suite: Suite, cells: Sequence[Cell], found: Kept, wanted: Wanted) -> Grid:
    results: dict[tuple[str, str], dict[int, Result | None]] = {}
    cases: dict[tuple[str, str], Case] = {}
    for cell in cells:
        case, place = cell.case.unpin(), (cell.row, cell.column)
        results.setdefault(place, {})[case.seed] = _last(found.get(case, []))
        cases.setdefault(place, case)
    entries = {place: Entry(cases[place], own) for place, own in results.items()}
    rows = tuple(row for row in suite.rows if any(row == place[0] for place in entries))
    columns = tuple(column for column in suite.columns if any(column == place[1] for place in entries))
    return Grid(suite.name, suite.title, rows, columns, wanted.seeds, entries, suite.means, wanted.limit, wanted.model)


def _last(results: Sequence[Result]) -> Result | None:
    # one that is done counts before one that failed, and a later one before an earlier
    return max(results, key=lambda result: (result.error is None, result.finished), default=None)


def _nothing(suite: Suite, kept: Kept, wanted: Wanted) -> str:
    others = limits(suite, kept)
    if not others:
        return f"no results of {suite.name} in the store; run: tent bench {suite.name}"
    if wanted.limit not in others:
        ways = " or ".join("without --limit" if limit is None else f"with --limit {limit}" for limit in others)
        asked = "without --limit" if wanted.limit is None else f"with --limit {wanted.limit}"
        return f"no results of {suite.name} {asked} in the store; it has some {ways}"
    seeds = sorted({case.seed for case in present(suite, kept, wanted.limit)})
    asked, there = (", ".join(str(seed) for seed in own) for own in (wanted.seeds, seeds))
    return f"no results of {suite.name} with seeds {asked} in the store; it has seeds {there}"
