"""From a store to grids: a suite's cells matched with the results that a query asks for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tent.bench.case import Case
from tent.bench.read.grid import Entry, Grid
from tent.bench.read.hashes import CaseResults, all_hashes, resolve_hashes
from tent.bench.result import Result
from tent.bench.store import Store
from tent.bench.suite import Cell, Suite


@dataclass(frozen=True)
class Query:
    """Which of a store's results a table is of; all that are there, unless said."""

    seeds: tuple[int, ...] = ()
    limit: int | None = None  # images a stream, as `tent bench --limit` was given
    hashes: tuple[str, ...] = ()  # how the hash of the weights (or of the data) begins, where there are several
    model: str = ""  # that took the place of the suite's own
    method: str = ""  # that was added to the suite
    batch: int | None = None  # images a batch, as `tent bench --batch` was given

    def apply(self, suite: Suite) -> Suite:
        """Return the suite with this model in place of its own, at this batch size, and with rows of this method."""
        suite = suite.with_model(self.model) if self.model else suite
        suite = suite.with_batch(self.batch) if self.batch else suite
        return suite.with_method(self.method) if self.method else suite


def open_results(folder: Path) -> tuple[list[Result], list[str]]:
    """Return every whole result of a store, and a line on each file that is not one; none at all is an error."""
    warnings: list[str] = []
    store = Store(folder, warnings.append)
    results = []
    for result in store.all():
        if result.error is None and not result.has_numbers:
            warnings.append(f"{store.path(result.case).name} lacks some of its numbers; skipped")
        else:
            results.append(result)
    if not results:
        reason = f"; {warnings[0]}" if warnings else ""
        raise ValueError(f"no results in {folder}{reason}; run a suite first, such as: tent bench cifar10-c")
    return results, warnings


def read_grid(suite: Suite, results: Iterable[Result], query: Query | None = None) -> Grid:
    """Return a suite's grid; a ValueError says what to do if the store has nothing of it, or more than one answer."""
    query, by_case = query or Query(), group_by_case(results)
    if suite.cells((0,), query.limit) == suite.cells((0,), None):
        query = replace(query, limit=None)  # more images than the suite asks for
    suite = query.apply(suite)
    cases = stored_cases(suite, by_case, query.limit, query.seeds)
    if not cases:
        raise ValueError(_explain_nothing(suite, by_case, query))
    chosen = resolve_hashes(suite.name, {case: by_case[case] for case in cases}, query.hashes)
    query = replace(query, seeds=query.seeds or tuple(sorted({case.seed for case in cases})))
    return _grid(suite, suite.cells(query.seeds, query.limit), chosen, query)


def group_by_case(results: Iterable[Result]) -> CaseResults:
    """Return results by the case that a suite would name, whatever hashes they are tied to."""
    by_case: CaseResults = {}
    for result in results:
        for case in result.suite_cases:
            by_case.setdefault(case, []).append(result)
    return by_case


def stored_cases(suite: Suite, by_case: CaseResults, limit: int | None = None, seeds: Sequence[int] = ()) -> set[Case]:
    """Return the cases of a suite that a store has results of, of these seeds or of any."""
    seeds = seeds or sorted({case.seed for case in by_case})
    return {cell.case for cell in suite.cells(seeds, limit)} & set(by_case)


def stored_limits(suite: Suite, by_case: CaseResults) -> list[int | None]:
    """Return the limits on images under which a store has results of a suite; None is the suite's own size."""
    limits: list[int | None] = []
    seen: set[Case] = set()
    for limit in (None, *sorted({case.images for case in by_case if case.images is not None})):
        if new := stored_cases(suite, by_case, limit) - seen:  # a limit that is the suite's own size is nothing new
            limits.append(limit)
            seen |= new
    return limits


def read_grids(suites: Iterable[Suite], results: Sequence[Result], hashes: tuple[str, ...] = ()) -> list[Grid]:
    """Return every table that a store has something of its own for.

    Suites share cases, so what one has may stand in others too: a suite at its own size and with its own model comes
    before others, and one that has nothing but what those before it show is left out.
    """
    by_case = group_by_case(results)
    grids: list[Grid] = []
    suites, unseen = list(suites), set(by_case)
    sets = {suite.name: {data.name for cell in suite.cells((0,), None) for data in cell.case.data} for suite in suites}
    for suite, query in _possible_tables(suites, by_case):
        if not any(_may_hold(query, case) and case.data[0].name in sets[suite.name] for case in unseen):
            continue  # it has nothing that a suite of its own has not shown
        try:
            changed = query.apply(suite)
        except ValueError:
            continue  # it has no place for such a model, method or batch
        cases = stored_cases(changed, by_case, query.limit)
        if cases & unseen:
            # a hash that was picked for one suite may be none of another's
            known = {value for case in cases for result in by_case[case] for value in all_hashes(result.case)}
            own = tuple(prefix for prefix in hashes if any(value.startswith(prefix) for value in known))
            grids.append(read_grid(suite, results, replace(query, hashes=own)))
            unseen -= {named for case in cases for result in by_case[case] for named in result.suite_cases}
    return grids


def _possible_tables(suites: Iterable[Suite], by_case: CaseResults) -> list[tuple[Suite, Query]]:
    changes = [
        *((model, "") for model in sorted({case.model for case in by_case})),
        *(("", method) for method in sorted({case.method for case in by_case})),
        *sorted({(case.model, case.method) for case in by_case}),
    ]
    limits = (None, *sorted({case.images for case in by_case if case.images is not None}))
    batches = (None, *sorted({case.batch_size for case in by_case}))
    tables = [(suite, Query()) for suite in suites]
    tables += [
        (suite, Query(model=model, method=method))
        for suite, _ in list(tables)
        for model, method in changes
        if model != suite.model
    ]
    return [
        (suite, replace(query, limit=limit, batch=batch))
        for batch in batches
        for limit in limits
        for suite, query in tables
    ]


def _may_hold(query: Query, case: Case) -> bool:
    """Tell whether a case could stand in the table of a query, as far as what is changed in it."""
    changes = ((query.model, case.model), (query.method, case.method), (query.batch, case.batch_size))
    return all(not wanted or wanted == own for wanted, own in changes)


def _grid(suite: Suite, cells: Sequence[Cell], chosen: CaseResults, query: Query) -> Grid:
    results: dict[tuple[str, str], dict[int, Result | None]] = {}
    first: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        place = cell.row, cell.column
        results.setdefault(place, {})[cell.case.seed] = _latest(chosen.get(cell.case, []))
        first.setdefault(place, cell)
    entries = {place: Entry(first[place].case, own, first[place].domain) for place, own in results.items()}
    _check_choices(suite, entries)
    return Grid(
        name=suite.name,
        title=suite.title,
        rows=tuple(row for row in suite.rows if any(row == place[0] for place in entries)),
        columns=tuple(column for column in suite.columns if any(column == place[1] for place in entries)),
        seeds=query.seeds,
        entries=entries,
        means=suite.means,
        limit=query.limit,
        model=query.model,
        method=query.method,
        batch=query.batch,
        only_means=suite.only_means,
    )


def _check_choices(suite: Suite, entries: Mapping[tuple[str, str], Entry]) -> None:
    """Refuse a row whose results were run at several values of an option that is chosen once for all of them."""
    values: dict[tuple[str, str], set[Any]] = {}
    for (row, _), entry in entries.items():
        for option in entry.case.choose:
            own = {result.case.options[option] for result in entry.successes.values()}
            values.setdefault((row, option), set()).update(own)
    for (row, option), found in values.items():
        if len(found) > 1:
            said = ", ".join(f"{value:g}" for value in sorted(found))
            raise ValueError(
                f"{suite.name}: results of {row} are of several values of {option} ({said}), since it was chosen anew; "
                "choose seeds of one of them with --seeds, or run the others again"
            )


def _latest(results: Sequence[Result]) -> Result | None:
    # one that is done counts before one that failed, and a later one before an earlier
    return max(results, key=lambda result: (result.error is None, result.finished), default=None)


def _explain_nothing(suite: Suite, by_case: CaseResults, query: Query) -> str:
    limits = stored_limits(suite, by_case)
    if not limits:
        return f"no results of {suite.name} in the store; run: tent bench {suite.name}"
    if query.limit not in limits:
        wanted, *others = ("without --limit" if n is None else f"with --limit {n}" for n in (query.limit, *limits))
        return f"no results of {suite.name} {wanted} in the store; it has some {' or '.join(others)}"
    stored = sorted({case.seed for case in stored_cases(suite, by_case, query.limit)})
    wanted, there = (", ".join(str(seed) for seed in seeds) for seeds in (query.seeds, stored))
    return f"no results of {suite.name} with seeds {wanted} in the store; it has seeds {there}"
