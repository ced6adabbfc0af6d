"""What a suite's answers cost: images forward and backward and seconds, training included, as a table of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from tent.bench.case import Case, Data
from tent.bench.read.compute import Passes, passes
from tent.bench.read.grid import Grid
from tent.bench.read.terms import Terms, shown
from tent.bench.read.training import altered
from tent.bench.render.table import Line, Piece, Table
from tent.bench.result import Result

UNIT = 10_000  # answered images that everything is told for
TENT = passes(Case("", (Data(""),), "tent"), 1)  # online, one step a batch
HEADS = ("images forward", "images backward", "passes, × Tent's", "training (s)", "answering (s)")
MEASURE = (
    f"For {UNIT:,} answered images: images that go forward and backward through the whole network, with the training "
    "of models that were trained by the row's own method and without that of source models; passes are both together, "
    "as a multiple of what Tent takes online, one of each an image. A training is shared out among the images that its "
    "model answers, each seed by itself. Seconds are as measured: of training, and of learning and answering at test "
    "time, without reading data."
)


@dataclass(frozen=True)
class Cost:
    """What an answered image takes."""

    passes: Passes
    training: float  # seconds
    answering: float


def cost(grid: Grid, row: str, columns: Sequence[str]) -> Cost | None:
    """Return what an answered image of a row takes over some columns; None if none of them is done."""
    results = _done(grid, row, columns)
    if not results:
        return None
    images, spent, training = sum(result.images for result in results), Passes(0, 0), 0.0
    for result in results:
        before = result.training if altered(result.training) else {}
        share = _share(result, _done(grid, row, grid.columns))
        spent += passes(result.case, result.images, before, share)
        training += share * before.get("seconds", 0)
    return Cost(spent.scaled(1 / images), training / images, sum(result.seconds for result in results) / images)


def costs(grid: Grid) -> Table:
    """Lay out what each row takes; columns in which a row takes the same share a line."""
    lines = [line for row in grid.rows for line in _lines(grid, row)]
    hardware = "; ".join(dict.fromkeys(result.hardware for result in grid.results if result.hardware))
    remarks = (f"Seconds at test time: {hardware}. Seconds of training: those on the models' cards.",)
    title, name = f"{grid.heading}: compute", f"{grid.file}-compute"
    return Table(name, title, f"for {UNIT:,} images", HEADS, tuple(lines), MEASURE, Terms({}, {}, {}, {}), (), remarks)


def _lines(grid: Grid, row: str) -> list[Line]:
    alike: dict[Passes, list[str]] = {}
    own = [column for column in grid.columns if (row, column) in grid.entries]
    for column in own:
        if (found := cost(grid, row, [column])) is not None:
            alike.setdefault(found.passes.scaled(UNIT).rounded(), []).append(column)
    if not alike:
        return [Line(shown(row), tuple(Piece("missing", "missing") for _ in HEADS))]
    heads = [row if len(alike) == 1 else f"{row}, {', '.join(columns)}" for columns in alike.values()]
    return [Line(shown(head), _pieces(cost(grid, row, own))) for head, own in zip(heads, alike.values(), strict=True)]


def _pieces(found: Cost | None) -> tuple[Piece, ...]:
    if found is None:
        return tuple(Piece("missing", "missing") for _ in HEADS)
    spent = found.passes.scaled(UNIT)
    texts = (
        f"{spent.forward:,.0f}",
        f"{spent.backward:,.0f}",
        f"{found.passes.total / TENT.total:,.1f}",
        f"{UNIT * found.training:,.0f}" if found.training else "",
        f"{UNIT * found.answering:,.1f}",
    )
    return tuple(Piece("ours", text) if text else Piece("blank") for text in texts)


def _done(grid: Grid, row: str, columns: Sequence[str]) -> list[Result]:
    entries = [grid.entries[row, column] for column in columns if (row, column) in grid.entries]
    return [result for entry in entries for result in entry.done.values()]


def _share(result: Result, results: Sequence[Result]) -> float:
    same = [each.images for each in results if _served(each) == _served(result)]
    return result.images / sum(same)


def _served(result: Result) -> tuple[str, int]:
    return result.case.model, result.case.seed
