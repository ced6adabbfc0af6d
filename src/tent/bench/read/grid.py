"""A suite's results as a grid: rows by columns, each entry over its seeds, with what is missing and what failed."""

import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from tent.bench.case import Case
from tent.bench.paper import MEAN, figure
from tent.bench.result import Result


@dataclass(frozen=True)
class Figure:
    """A mean over seeds, its spread (the standard deviation with n - 1; None of one seed), and the seeds it is of."""

    mean: float
    spread: float | None
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """One cell of a table: its case, and what the store holds of it by seed; None where it holds nothing."""

    case: Case  # of the first seed, tied to no hashes
    results: Mapping[int, Result | None]

    @property
    def done(self) -> dict[int, Result]:
        """The results that are there and did not fail."""
        return {seed: found for seed, found in self.results.items() if found is not None and found.error is None}

    @property
    def bound(self) -> bool:
        """Whether labels were shown to what answered: nothing to be better than."""
        return self.case.method == "oracle"

    @property
    def failures(self) -> dict[int, str]:
        """Why a seed's case failed, where one did."""
        found = {seed: result.error for seed, result in self.results.items() if result is not None}
        return {seed: error for seed, error in found.items() if error is not None}

    @property
    def missing(self) -> tuple[int, ...]:
        """The seeds that the store holds nothing of."""
        return tuple(seed for seed, result in self.results.items() if result is None)

    def figure(self, metric: str = "error") -> Figure | None:
        """Return a metric's mean and spread over the seeds that are done; None if none is."""
        return figure_of({seed: result.metrics[metric] for seed, result in self.done.items()})


@dataclass(frozen=True)
class Grid:
    """All entries of a suite, by row and column; a suite need not have every column in every row."""

    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    seeds: tuple[int, ...]
    entries: Mapping[tuple[str, str], Entry]
    means: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # title -> columns, where a mean says something
    limit: int | None = None  # images of each stream, where that is not the suite's own choice
    model: str = ""  # that took the place of the suite's own

    @property
    def file(self) -> str:
        """What its files are called, without their endings."""
        model = f"-{re.sub(r'[^A-Za-z0-9]+', '-', self.model)}" if self.model else ""
        return self.name + model + ("" if self.limit is None else f"-limit-{self.limit}")

    @property
    def heading(self) -> str:
        """The suite's title, and in what this table is not the suite's own."""
        model = f", model {self.model}" if self.model else ""
        return self.title + model + ("" if self.limit is None else f", the first {self.limit:,} images of each stream")

    def paper(self, row: str, column: str) -> float | None:
        """Return the paper's figure of a cell in percent, where there is one; another model has none."""
        return None if self.model else figure(self.name, row, column)

    @property
    def results(self) -> list[Result]:
        """Every result, failed ones too."""
        return [found for entry in self.entries.values() for found in entry.results.values() if found is not None]

    def group(self, row: str, title: str) -> list[Entry]:
        """Return a row's entries of a column, or of the columns of a mean; none of a mean that it lacks a column of."""
        entries = [self.entries.get((row, column)) for column in self.means.get(title, (title,))]
        found = [entry for entry in entries if entry is not None]
        return found if len(found) == len(entries) else []

    def row_mean(self, row: str, title: str = MEAN) -> Figure | None:
        """Return the mean error over the columns of a mean, of the seeds that have them all; None if no seed has."""
        entries = self.group(row, title)
        whole = [seed for seed in self.seeds if entries and all(seed in entry.done for entry in entries)]
        means = {seed: statistics.mean(entry.done[seed].metrics["error"] for entry in entries) for seed in whole}
        return figure_of(means)


def figure_of(values: Mapping[int, float]) -> Figure | None:
    """Return the mean and the spread of one value a seed; None of no values."""
    if not values:
        return None
    # exact sums, so that the spread of equal values is zero
    spread = statistics.stdev(values.values()) if len(values) > 1 else None
    return Figure(statistics.mean(values.values()), spread, tuple(values))
