"""The learning rate at each step, as a share of its peak."""

import math
from collections.abc import Callable

Schedule = Callable[[int, int, float, float], float]


def one_cycle(step: int, steps: int, rise: float, hold: float) -> float:
    """Up in a straight line, level for a while, then down to nothing in a straight line (Smith, 2018)."""
    up = round(rise * steps)  # whole steps: before the fall begins, a rate does not depend on how long the run is
    level = up + round(hold * steps)
    if step < up:
        return step / up
    return 1.0 if step < level else (steps - step) / (steps - level)


def cosine(step: int, steps: int, rise: float, hold: float) -> float:
    """From the peak to nothing along half a cosine (Loshchilov & Hutter, 2017)."""
    return 0.5 * (1 + math.cos(math.pi * step / steps))


SCHEDULES: dict[str, Schedule] = {"one-cycle": one_cycle, "cosine": cosine}
