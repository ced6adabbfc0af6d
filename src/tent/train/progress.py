"""How far a run is and how long it still takes: a bar in a terminal, plain lines elsewhere."""

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from tent.environment import duration
from tent.train.loop import Training, Watcher

GAP = 60.0  # seconds between plain lines inside an epoch


class Pace:
    """Seconds a step, from the latest steps: other work on the machine may come and go."""

    def __init__(self) -> None:
        self.ends: deque[float] = deque([monotonic()], maxlen=200)

    def remaining(self, run: Training) -> str:
        """Note the end of a step, and say how long the run still takes."""
        self.ends.append(monotonic())
        return duration((self.ends[-1] - self.ends[0]) / (len(self.ends) - 1) * (run.steps - run.step))


class Lines:
    """A line each epoch, and each minute of a long one."""

    def __init__(self, run: Training) -> None:
        self.pace = Pace()
        self.said = self.epoch_began = monotonic()
        if run.step:
            print(f"continuing after {run.step} of {run.steps} steps", file=sys.stderr, flush=True)

    def __call__(self, run: Training, loss: float, error: float) -> None:
        """Say how far the run is, where it is time to."""
        now, left = monotonic(), self.pace.remaining(run)
        epoch, place = divmod(run.step, run.epoch_steps)
        if place and now - self.said < GAP:
            return
        where = f"epoch {epoch}/{run.recipe.epochs}" + (f" and {place}/{run.epoch_steps} steps" if place else "")
        took = "" if place else f"epoch took {duration(now - self.epoch_began)}, "
        print(f"{where}: loss {loss:.4f}, training error {error:.2%}, {took}{left} left", file=sys.stderr, flush=True)
        self.said = now
        if not place:
            self.epoch_began = now


@contextmanager
def show(run: Training) -> Iterator[Watcher]:
    """Show a run while it lasts."""
    try:
        from rich import console, progress
    except ImportError:
        progress = None  # type: ignore[assignment]
    if progress is None or not sys.stderr.isatty():
        yield Lines(run)
        return
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.fields[left]}"),
    )
    with progress.Progress(*columns, console=console.Console(file=sys.stderr)) as bar:
        task, pace = bar.add_task("starting", total=run.steps, completed=run.step, left=""), Pace()

        def watch(run: Training, loss: float, error: float) -> None:
            epoch = -(-run.step // run.epoch_steps)
            said = f"epoch {epoch}/{run.recipe.epochs}, loss {loss:.3f}, training error {error:.1%}"
            bar.update(task, completed=run.step, description=said, left=f"{pace.remaining(run)} left")

        yield watch
