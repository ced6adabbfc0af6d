"""Compute: how many images went through the network, forward and backward, and how long that took."""

from collections.abc import Sequence
from dataclasses import dataclass

from tent.bench.case import METHODS
from tent.bench.read.grid import Grid
from tent.bench.read.training import is_baseline
from tent.bench.result import Result


@dataclass(frozen=True)
class Passes:
    """Images that go through the whole network."""

    forward: float
    backward: float

    @property
    def total(self) -> float:
        """Forward and backward together, one counting as much as the other: a unit that hardware has no say in."""
        return self.forward + self.backward

    def __add__(self, other: "Passes") -> "Passes":
        return Passes(self.forward + other.forward, self.backward + other.backward)

    def __mul__(self, factor: float) -> "Passes":
        return Passes(self.forward * factor, self.backward * factor)

    def __round__(self) -> "Passes":
        return Passes(round(self.forward), round(self.backward))


@dataclass(frozen=True)
class Cost:
    """What an answered image takes."""

    passes: Passes | None  # None where a result did not count them
    training: float  # seconds
    answering: float
    memory: int | None = None  # bytes of a step; None where a result did not measure it
    needs: tuple[str, ...] = ()  # beyond test inputs


def passes(result: Result) -> Passes | None:
    """Return the images that a result's run sent through the network, if the engine counted them."""
    if not {"forwards", "backwards"} <= set(result.counts):
        return None
    return Passes(result.counts["forwards"], result.counts["backwards"])


def cost(grid: Grid, row: str, columns: Sequence[str]) -> Cost | None:
    """Return what an answered image of a row takes over some columns; None if none of them is done."""
    results = _successes(grid, row, columns)
    if not results:
        return None
    images, spent, training = sum(result.images for result in results), Passes(0, 0), 0.0
    for result in results:
        before = result.training if is_baseline(result.training) else {}
        share = _training_share(result, _answered(grid, row))
        spent += Passes(before.get("forward", 0), before.get("backward", 0)) * share + (passes(result) or Passes(0, 0))
        training += share * before.get("seconds", 0)
    known = all(passes(result) is not None for result in results)
    answering = sum(result.seconds for result in results) / images
    memory = max((result.peak_memory or 0 for result in results), default=0) or None
    return Cost(spent * (1 / images) if known else None, training / images, answering, memory, _needs(results))


def _needs(results: Sequence[Result]) -> tuple[str, ...]:
    """Return what a row's method wants beyond test inputs; of a method in a file that is gone, nothing is known."""
    names = {result.case.method for result in results} & set(METHODS)
    return tuple(sorted({need for name in names for need in METHODS[name].needs}))


def _successes(grid: Grid, row: str, columns: Sequence[str]) -> list[Result]:
    entries = [grid.entries[row, column] for column in columns if (row, column) in grid.entries]
    return [result for entry in entries for result in entry.successes.values()]


def _answered(grid: Grid, row: str) -> list[Result]:
    """Return all results of a row, also of columns that are not shown: they share its trainings."""
    entries = [entry for (own, _), entry in {**grid.hidden, **grid.entries}.items() if own == row]
    return [result for entry in entries for result in entry.successes.values()]


def _training_share(result: Result, results: Sequence[Result]) -> float:
    """Return the part of a model's training that falls on one result, by images, among those of its seed."""
    model = result.case.model, result.case.seed
    return result.images / sum(each.images for each in results if (each.case.model, each.case.seed) == model)
