"""What differs between the seeds of a table, in words: orders of a stream, drawn images, trainings."""

from collections.abc import Sequence

from tent.bench.read.grid import Grid, display_name


def describe_seeds(grid: Grid) -> str:
    """Return how many seeds there are and what they change, such as `n = 3 orders of the stream (seeds 0, 1, 2)`."""
    cases = [entry.case for entry in grid.entries.values()]
    what = "order" if any(case.order != "stored" for case in cases) else "seed"
    many, count = "s" if len(grid.seeds) > 1 else "", len(grid.seeds)
    stream = " of the stream" if what == "order" else ""
    drawn = ", each with its own draw of images" if count > 1 and any(case.draws_images for case in cases) else ""
    return f"n = {count} {what}{many}{stream} (seed{many} {', '.join(map(str, grid.seeds))}){drawn}"


def describe_trainings(grid: Grid) -> str:
    """Return whether the models were trained once, or again for each seed."""
    rows = [row for row in grid.rows if any(entry.trainings > 1 for entry in grid.row(row))]
    if not rows:
        return "one training of each model"
    return f"a training for each seed in {join_names(rows)}, one training elsewhere"


def constant_rows(grid: Grid) -> list[str]:
    """Return the rows with results whose answers are the same for every seed."""
    rows = {row: [entry for entry in grid.row(row) if entry.successes] for row in grid.rows}
    return [row for row, own in rows.items() if own and not any(entry.depends_on_seed for entry in own)]


def join_names(names: Sequence[str]) -> str:
    """Return names as a sentence has them: `a, b and c`."""
    shown = [display_name(name) for name in names]
    return " and ".join(part for part in (", ".join(shown[:-1]), shown[-1]) if part)
