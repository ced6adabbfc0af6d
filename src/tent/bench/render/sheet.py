"""A grid as CSV: one line a case, with every number as the store has it."""

import csv
import io

from tent.bench.read.compute import passes
from tent.bench.read.grid import Grid
from tent.bench.result import Result
from tent.tasks import Classification

SPENT = ("forward", "backward", "training_seconds", "training_forward", "training_backward")
HEAD = (
    "suite",
    "row",
    "column",
    "seed",
    "state",
    "key",
    *Classification.metrics,
    "seconds",
    "images",
    *SPENT,
    "failure",
)


def sheet(grid: Grid) -> str:
    """Return a grid as CSV; error and calibration error are shares from 0 to 1, entropies are in nats."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    for (row, column), entry in grid.entries.items():
        for seed, result in entry.results.items():
            writer.writerow([grid.name, row, column, seed, *_fields(result)])
    return text.getvalue()


def _fields(result: Result | None) -> list[object]:
    if result is None:
        return ["missing", *("" for _ in range(len(HEAD) - 5))]
    if result.error is not None:
        blank = ("" for _ in range(len(HEAD) - 7))
        return ["failed", result.case.key(), *blank, " ".join(result.error.split())]
    numbers = [repr(result.metrics[name]) for name in Classification.metrics]
    spent, card = passes(result.case, result.images), result.training
    trained = [card.get(name, "") for name in ("seconds", "forward", "backward")]
    own = [repr(result.seconds), result.images, int(spent.forward), int(spent.backward), *trained]
    return ["done", result.case.key(), *numbers, *own, ""]
