"""`tent bench`: run the cases of a suite that are missing."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from tent.bench.schedule.board import Board
    from tent.bench.suite import Suite

SEEDS = "Seeds of the stream's order, with commas."
WORKERS = "Processes; the machine's threads are divided among them."
LIMIT = "Only the first so many images of each stream: another protocol, kept apart."
DRY = "Say what would run, and how long it should take from what the store has measured."
MODEL = "A model of the zoo in place of the suite's own."
BATCH = "Images a batch in place of the suite's own: another protocol, kept apart."
ROWS = "Run these rows alone, with commas: Source,BN,Tent or 'Tent*'."
METHOD = (
    "Add a row of this method, in its own settings, beside Tent's: FILE.py:Class of your own, or a name such as bn."
)


def bench(
    suite: Annotated[str | None, typer.Argument(help="A suite; without one, all are listed.")] = None,
    seeds: Annotated[str, typer.Option(help=SEEDS)] = "0",
    workers: Annotated[int, typer.Option(help=WORKERS, min=1)] = 1,
    store: Annotated[Path, typer.Option(help="Folder of results, one file a case.")] = Path("results"),
    limit: Annotated[int | None, typer.Option(help=LIMIT, min=1)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=DRY)] = False,
    model: Annotated[str | None, typer.Option(help=MODEL)] = None,
    weights: Annotated[Path | None, typer.Option(help="Weights in place of that model's own.")] = None,
    method: Annotated[str | None, typer.Option(help=METHOD)] = None,
    batch: Annotated[int | None, typer.Option(help=BATCH, min=1)] = None,
    rows: Annotated[list[str] | None, typer.Option(help=ROWS)] = None,
) -> None:
    """Run a suite: what is done is skipped, a run that was killed goes on, a case that fails does not stop the rest."""
    from tent.bench.schedule.board import Board
    from tent.bench.schedule.plan import make_plan
    from tent.bench.store import Store

    if suite is None:
        print_suites()
        return
    chosen = find_suite(suite, model, method, batch, rows or ())
    plan = make_plan(chosen, parse_seeds(seeds), limit, None if weights is None else str(weights))
    board = Board(plan, Store(store), workers)
    if dry_run:
        print_forecast(board)
        return
    run_jobs(board, suite)
    if board.failed:
        raise typer.Exit(1)


def find_suite(
    name: str, model: str | None, method: str | None, batch: int | None = None, rows: Sequence[str] = ()
) -> "Suite":
    """Return a suite with the model, the batch size, the added method and of the rows that were asked for."""
    from tent.bench.case import find_method
    from tent.bench.read.narrow import find_names
    from tent.bench.suites import by_name

    suite = by_name(name).with_model(model) if model else by_name(name)
    suite = suite.with_batch(batch) if batch else suite
    if method:
        find_method(method)  # which says what is wrong with it
        suite = suite.with_method(method)
    return suite.with_rows(find_names(name, "row", rows, suite.rows)) if rows else suite


def print_suites() -> None:
    """Print the suites."""
    from tent.bench.suites import SUITES

    table = Table("suite", "what it is", "cases a seed")
    for suite in SUITES.values():
        table.add_row(suite.name, suite.title, str(len({cell.case for cell in suite.cells((0,), None)})))
    Console().print(table)


def run_jobs(board: "Board", name: str) -> None:
    """Run what is to do, showing it, and sum it up in a line."""
    from tent.bench.schedule.workers import work
    from tent.cli.bench_view import Lines, live

    view = live(board) if sys.stderr.isatty() else nullcontext(Lines())
    try:
        with view as notice:
            work(board, notice)
    except KeyboardInterrupt:
        print(f"tent: stopped; {_summary(board)}; the same command goes on from here", file=sys.stderr)
        raise typer.Exit(130) from None
    print(f"{name}: {_summary(board)}, in {board.store.folder}")
    for job, why in board.failed[:3]:
        print(f"tent: {job.label} failed: {why}", file=sys.stderr)
    _print_untrained(board)


def print_forecast(board: "Board") -> None:
    """Print what would run, and how long it should take."""
    from tent.cli.bench_view import forecast

    Console().print(forecast(board))
    _print_untrained(board)


def parse_seeds(text: str) -> list[int]:
    """Return the seeds, each once."""
    try:
        found = list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise ValueError(f"--seeds {text!r}: give whole numbers with commas, such as 0,1,2") from None
    if min(found) < 0:
        raise ValueError(f"--seeds {text!r}: a seed is 0 or more")
    return found


def _print_untrained(board: "Board") -> None:
    from tent.bench.schedule.plan import describe_untrained

    if board.plan.untrained:
        print(f"tent: {describe_untrained(board.plan.untrained)}", file=sys.stderr)


def _summary(board: "Board") -> str:
    failed = f", {len(board.failed)} failed" if board.failed else ""
    return f"{len(board.done) + board.before} of {board.total} cases done ({board.before} before){failed}"
