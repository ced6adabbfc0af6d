"""The learning rate at each step, as a share of its peak."""

import math
from collections.abc import Callable

Schedule = Callable[[float, float], float]


def one_cycle(progress: float, rise: float) -> float:
    """Up in a straight line for the first part of the run, then down to nothing (Smith, 2018)."""
    return progress / rise if progress < rise else (1 - progress) / (1 - rise)


def cosine(progress: float, rise: float) -> float:
    """From the peak to nothing along half a cosine (Loshchilov & Hutter, 2017)."""
    return 0.5 * (1 + math.cos(math.pi * progress))


SCHEDULES: dict[str, Schedule] = {"one-cycle": one_cycle, "cosine": cosine}
