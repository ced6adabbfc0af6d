"""What is seen of a run: a live table in a terminal, plain lines elsewhere, and a forecast."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tent.bench.schedule.board import Board
from tent.bench.schedule.plan import Job
from tent.bench.schedule.workers import Notice
from tent.environment import duration

GAP = 60.0  # seconds between lines on what runs


class Lines:
    """A line a case, and one a minute for each that still runs."""

    def __init__(self) -> None:
        self.begun = False
        self.said = monotonic()

    def __call__(self, board: Board, ended: Job | None) -> None:
        """Say what ended, and how long the rest should take."""
        if not self.begun:
            self.begun = True
            there = board.before + len(board.failed)
            print(f"{board.total} cases, {there} of them there or out of reach; {time_left(board)}", file=sys.stderr)
        if ended is None:
            if monotonic() - self.said >= GAP:
                self.said = monotonic()
                for line in list_running(board):
                    print(f"{line}; {time_left(board)}", file=sys.stderr, flush=True)
            return
        place = f"[{board.before + len(board.done) + len(board.failed)}/{board.total}] {ended.label}"
        print(f"{place}: {outcome(board, ended)}; {time_left(board)}", file=sys.stderr, flush=True)


@contextmanager
def live(board: Board) -> Iterator[Notice]:
    """Show a table that is drawn anew twice a second."""
    with Live(LiveTable(board), console=Console(stderr=True), refresh_per_second=2):
        yield lambda board, ended: None


def forecast(board: Board) -> Table:
    """Return a table of what would run, row by row, with its time."""
    table = Table("row", "to run", "images", "should take", title=f"{board.plan.suite.title}: what would run")
    waiting = [*board.todo, *board.undecided]
    for row in dict.fromkeys(job.row for job in waiting):
        own = [job for job in waiting if job.row == row]
        times = [board.pace.seconds(job.case, job.images) for job in own]
        known = sum(seconds for seconds in times if seconds is not None)
        said = "unknown" if all(seconds is None for seconds in times) else duration(known)
        table.add_row(row, str(len(own)), f"{sum(job.images for job in own):,}", said)
    done = f"{board.before} of {board.total} cases are done, {len(board.plan.broken)} are out of reach"
    why = f" ({board.plan.broken[0][1]})" if board.plan.broken else ""
    table.caption = Text(f"{done}{why}; {time_left(board)}")
    return table


def outcome(board: Board, job: Job) -> str:
    """Return what came of a job that ended."""
    for done, result in reversed(board.done):
        if done == job:
            task = job.case.task_type
            value = result.metrics[task.primary]
            shown = f"{value:.2%}" if task.unit == "%" else f"{value:.4g}{task.unit}"
            return f"{task.label} {shown}, {duration(result.seconds)}"
    return f"failed, {dict(board.failed).get(job, '')}"


def list_running(board: Board) -> list[str]:
    """Return what runs, how much of it is done, and for how long it has run."""
    lines = []
    for job, begun in list(board.running.items()):
        share = board.shares.get(job)
        done = "running for" if share is None else f"{share:.0%} done after"
        lines.append(f"{job.label}: {done} {duration(monotonic() - begun)}")
    return lines


def time_left(board: Board) -> str:
    """Return the time that is left, as far as it is known."""
    seconds, unknown = board.left()
    count = len(board.todo) + len(board.undecided) + len(board.running)
    if not count:
        return "nothing left"
    if unknown == count:
        return "time left unknown"
    return f"about {duration(seconds)} left" + (f", and {unknown} cases of unknown time" if unknown else "")


class LiveTable:
    """What a terminal shows of a board at the moment it is drawn."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def __rich__(self) -> Group:
        board = self.board
        table = Table("done", "running", "failed", "to do", "remaining", title=board.plan.suite.title)
        done, waiting = board.before + len(board.done), len(board.todo) + len(board.undecided)
        table.add_row(
            f"{done}/{board.total}", *map(str, (len(board.running), len(board.failed), waiting)), time_left(board)
        )
        lines = [f"  {line}" for line in list_running(board)]
        last = [f"  {job.label}: {outcome(board, job)}" for job, _ in board.done[-3:]]
        return Group(table, Text("\n".join([*lines, *last])))
