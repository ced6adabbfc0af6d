"""A grid as CSV: one line a case, with every number as the store has it."""

import csv
import io

from tent.bench.read.compute import passes
from tent.bench.read.grid import Grid
from tent.bench.result import Result

TRAINING = {"training_seconds": "seconds", "training_forward": "forward", "training_backward": "backward"}


def to_csv(grid: Grid) -> str:
    """Return a grid as CSV; metrics are on their natural scale, an error from 0 to 1, and entropies in nats."""
    text = io.StringIO()
    head = columns(grid)
    writer = csv.DictWriter(text, head, restval="", lineterminator="\n")
    writer.writeheader()
    for (row, column), entry in grid.entries.items():
        for seed, result in entry.results.items():
            place = {"suite": grid.name, "row": row, "column": column, "seed": seed}
            writer.writerow({**place, **_values(result)})
    return text.getvalue()


def columns(grid: Grid) -> list[str]:
    """Return the names of the columns: the metrics are those of the task, and whatever else a result has."""
    own = [name for entry in grid.entries.values() for name in entry.case.task_type.metrics]
    more = [name for result in grid.results for name in result.metrics]
    place, spent = ("suite", "row", "column", "seed", "state", "key"), ("seconds", "images", "forward", "backward")
    return [*place, *dict.fromkeys((*own, *more)), *spent, *TRAINING, "failure"]


def _values(result: Result | None) -> dict[str, object]:
    if result is None:
        return {"state": "missing"}
    if result.error is not None:
        return {"state": "failed", "key": result.case.key(), "failure": " ".join(result.error.split())}
    spent = passes(result)
    return {
        **{"state": "done", "key": result.case.key()},
        **{name: repr(value) for name, value in result.metrics.items()},
        **{"seconds": repr(result.seconds), "images": result.images},
        **({} if spent is None else {"forward": int(spent.forward), "backward": int(spent.backward)}),
        **{name: result.training.get(key, "") for name, key in TRAINING.items()},
    }
