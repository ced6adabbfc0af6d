"""How far a run is and how long it still takes: a bar in a terminal, plain lines elsewhere."""

import sys
from collections import deque
from time import monotonic

from tent.train.loop import Training

GAP = 60.0  # seconds between plain lines inside an epoch


class Lines:
    """A line each epoch, and each minute of a long one."""

    def __init__(self) -> None:
        self.said = self.epoch_began = monotonic()
        self.recent: deque[float] = deque([monotonic()], maxlen=200)  # ends of the latest steps

    def __call__(self, run: Training, loss: float, error: float) -> None:
        """Say how far the run is, where it is time to."""
        now = monotonic()
        self.recent.append(now)
        epoch, place = divmod(run.step, run.epoch_steps)
        if place and now - self.said < GAP:
            return
        pace = (now - self.recent[0]) / (len(self.recent) - 1)
        took = f"epoch took {clock(now - self.epoch_began)}, " if not place else ""
        where = (
            f"epoch {epoch}/{run.recipe.epochs}" if not place else f"epoch {epoch} + {place}/{run.epoch_steps} steps"
        )
        left = clock(pace * (run.steps - run.step))
        print(f"{where}: loss {loss:.4f}, training error {error:.2%}, {took}{left} left", file=sys.stderr, flush=True)
        self.said = now
        if not place:
            self.epoch_began = now


def clock(seconds: float) -> str:
    """Seconds as a reader wants them."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
