"""A table's caption in a few lines: what its numbers are and over what they vary, model, data, what differs by row."""

from collections.abc import Iterable, Mapping, Sequence

from tent.bench.case import Case
from tent.bench.read.grid import Entry, Grid
from tent.bench.read.provenance import Provenance
from tent.bench.read.training import is_baseline
from tent.bench.read.variation import constant_rows, describe_seeds, describe_trainings, join_names
from tent.bench.result import Result

SAID = {"model", "data", "images", "method", "updates", "labels"}  # in other words
UPDATES = {"when", "optimizer", "lr", "steps", "reset"}  # said for every row, unless these are many
MOST, MANY = 4, 6  # of so many names all are listed; more groups of rows than this are not


def build_caption(grid: Grid, provenance: Provenance) -> tuple[str, ...]:
    """Return the lines of a caption."""
    lines = (f"{_measure(grid)} {_spread(grid)}", _setting(grid), _by_row(grid, provenance))
    return tuple(line for line in lines if line)


def _measure(grid: Grid) -> str:
    unseen = [title for title, own in grid.means.items() if set(own) - set(grid.columns)]
    over = (f" {title}: over {len(grid.means[title])} columns, also those not shown." for title in unseen)
    return f"{grid.metric.description}, best in bold.{''.join(over)}"


def _spread(grid: Grid) -> str:
    """Say what the numbers vary over, and which of them cannot vary."""
    over = f"{describe_seeds(grid)}; {describe_trainings(grid)}"
    if len(grid.seeds) == 1:
        return f"{over}, so no spread is known."
    rows = constant_rows(grid)
    without = f" No ± for {join_names(rows)}, whose answers do not depend on the seed." if rows else ""
    return f"Mean ± standard deviation (n − 1), {over}.{without}"


def _setting(grid: Grid) -> str:
    """Say which model answered which data."""
    results = [result for result in grid.results if result.error is None]
    own = [result for result in results if not is_baseline(result.training)]
    if not results:
        return ""
    models = _names(result.case.model for result in own)
    trained = [row for row in grid.rows if any(_is_trained(entry) for entry in grid.row(row))]
    if trained:
        models += f"{'; ' if models else ''}trained for {join_names(trained)}, see notes"
    images = _range(result.images for result in results)
    each = " a column" if len({column for _, column in grid.entries}) > 1 else ""
    each = " a stream" if any(len(result.case.data) > 1 for result in results) else each
    batches = _range(result.case.batch_size for result in results)
    return f"Model: {models}. Data: {_data(results)}, {images} images{each}, batches of {batches}."


def _is_trained(entry: Entry) -> bool:
    return any(is_baseline(result.training) for result in entry.successes.values())


def _data(results: Sequence[Result]) -> str:
    cases = [result.case for result in results]
    domains = [data for case in cases for data in case.data]
    names = _names(data.name if data.split == "test" else f"{data.name} {data.split}" for data in domains)
    levels = {data.severity for data in domains if data.severity is not None}
    severity = f", severit{'ies' if len(levels) > 1 else 'y'} {_range(levels)}" if levels else ""
    orders = _names(case.order for case in cases if case.order != "shuffled")
    return names + severity + (f", order {orders}" if orders else "")


def _by_row(grid: Grid, provenance: Provenance) -> str:
    """Say how the rows update, those alike together, and in what else they differ."""
    groups: dict[str, list[str]] = {}
    for row in grid.rows:
        words = {_update(result) for entry in grid.row(row) for result in entry.successes.values()}
        for word in sorted(words - {""}):
            groups.setdefault(word, []).append(row)
    many = len(groups) > MANY
    said = _largest(groups, len(grid.rows)) if many else "; ".join(_list_groups(groups))
    known = SAID if many else SAID | UPDATES
    others = list(dict.fromkeys(fact for facts in provenance.by_row.values() for fact in facts if fact not in known))
    also = f"Rows{' also' if said else ''} differ in {join_names(others)}." if others else ""
    return " ".join(part for part in (f"Updates: {said}." if said else "", also) if part)


def _list_groups(groups: Mapping[str, Sequence[str]]) -> list[str]:
    most = max(groups, key=lambda word: len(groups[word]), default="")
    named = {word: rows for word, rows in groups.items() if word != most or len(rows) <= MOST}
    said = [f"{join_names(rows)}: {word}" for word, rows in named.items()]
    rest = "the rest" if said else "all rows"
    return said if most in named or not most else [*said, f"{rest}: {most}"]


def _largest(groups: Mapping[str, Sequence[str]], rows: int) -> str:
    most = max(groups, key=lambda word: len(groups[word]))
    return f"{most} in {len(groups[most])} of {rows} rows"


def _update(result: Result) -> str:
    """Return how a result's case updates in a few words, such as `Adam 0.001, offline`."""
    optimizer, case = result.protocol.get("optimizer", ""), result.case
    if optimizer in ("", "none"):
        return "none" if optimizer else ""
    return ", ".join([f"{optimizer} {result.protocol.get('lr', '')}".strip(), *_schedule(case)])


def _schedule(case: Case) -> list[str]:
    return [
        *([case.when] if case.when != "online" else []),
        *([f"{case.epochs} passes"] if case.epochs > 1 else []),
        *([f"{case.steps} steps a batch"] if case.steps > 1 else []),
        *([f"reset before every {case.reset}"] if case.reset != "never" else []),
    ]


def _names(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    return ", ".join(known[:MOST]) + (f" and {len(known) - MOST} more" if len(known) > MOST else "")


def _range(numbers: Iterable[int]) -> str:
    known = sorted(set(numbers))
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"
