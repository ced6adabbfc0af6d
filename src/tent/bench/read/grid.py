"""A suite's results as a grid: rows by columns, each entry over its seeds, with what is missing and what failed."""

import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tent.bench.case import Case
from tent.bench.paper import MEAN, published_epochs, published_value
from tent.bench.read.metric import Metric, primary_metric
from tent.bench.result import Result


@dataclass(frozen=True)
class Summary:
    """A mean over seeds, its spread (the standard deviation with n - 1; None of one seed), and the seeds it is of."""

    mean: float
    spread: float | None
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """One cell of a table: its case, and what the store holds of it by seed; None where it holds nothing."""

    case: Case  # of the first seed, tied to no hashes
    results: Mapping[int, Result | None]
    domain: str = ""  # the part of the stream that its numbers are of; all of it without

    @property
    def successes(self) -> dict[int, Result]:
        """The results that are there and did not fail."""
        return {seed: each for seed, each in self.results.items() if each is not None and each.error is None}

    @property
    def failures(self) -> dict[int, str]:
        """Why a seed's case failed, where one did."""
        errors = {seed: result.error for seed, result in self.results.items() if result is not None}
        return {seed: error for seed, error in errors.items() if error is not None}

    @property
    def missing_seeds(self) -> tuple[int, ...]:
        """The seeds that the store holds nothing of."""
        return tuple(seed for seed, result in self.results.items() if result is None)

    @property
    def uses_labels(self) -> bool:
        """Whether labels were shown to what answered: nothing to be better than."""
        return self.case.method == "oracle"

    @property
    def trainings(self) -> int:
        """How many models answered: more than one where each seed has its own."""
        return len({result.case.weights for result in self.successes.values()})

    @property
    def depends_on_seed(self) -> bool:
        """Whether a seed could change the number; a fixed model that answers the same images one by one has no such."""
        fixed = self.case.method == "source" and self.case.stats in (None, "source")
        return not fixed or self.case.draws_images or self.trainings > 1

    def values(self, metric: str) -> dict[int, float]:
        """Return a metric by seed, of the results that have it."""
        found = self.successes.items()
        own = {seed: each.by_domain.get(self.domain, {}) if self.domain else each.metrics for seed, each in found}
        return {seed: metrics[metric] for seed, metrics in own.items() if metric in metrics}

    def summary(self, metric: str = "") -> Summary | None:
        """Return the mean and spread over seeds of a metric, the task's own unless named; None if no result has it."""
        return summarize(self.values(metric or primary_metric(self.case).name))


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
    method: str = ""  # that was added to the suite
    hidden: Mapping[tuple[str, str], Entry] = field(default_factory=dict)  # not chosen, but a training may be shared
    batch: int | None = None  # images a batch, where that is not the suite's own choice
    only_means: bool = False  # whether its columns are shown by their means alone

    @property
    def titles(self) -> tuple[str, ...]:
        """The columns that are shown, and after them the means."""
        return tuple(self.means) if self.only_means else (*self.columns, *self.means)

    @property
    def file_name(self) -> str:
        """What its files are called, without their endings."""
        batch = "" if self.batch is None else f"batch-{self.batch}"
        changes = (self.model, self.method, batch, "" if self.limit is None else f"limit-{self.limit}")
        return "-".join((self.name, *(re.sub(r"[^A-Za-z0-9]+", "-", change) for change in changes if change)))

    @property
    def heading(self) -> str:
        """The suite's title, and in what this table is not the suite's own."""
        changes = (
            f"model {self.model}" if self.model else "",
            f"with {self.method}" if self.method else "",
            "" if self.batch is None else f"batches of {self.batch}",
            "" if self.limit is None else f"the first {self.limit:,} images of each stream",
        )
        return ", ".join((self.title, *(change for change in changes if change)))

    @cached_property
    def metric(self) -> Metric:
        """What all entries are judged by."""
        metrics = {primary_metric(entry.case) for entry in self.entries.values()}
        if len(metrics) != 1:
            labels = ", ".join(sorted(metric.label for metric in metrics))
            raise ValueError(f"{self.name}: its cases are judged by different metrics ({labels}); give each a suite")
        return metrics.pop()

    @property
    def results(self) -> list[Result]:
        """Every result, failed ones too."""
        return [each for entry in self.entries.values() for each in entry.results.values() if each is not None]

    def row(self, row: str) -> list[Entry]:
        """Return a row's entries."""
        return [entry for (own, _), entry in self.entries.items() if own == row]

    def paper(self, row: str, column: str) -> float | None:
        """Return the paper's number of a cell as it is printed, where there is one and what was run is like it."""
        if self.model or self.batch or self.limit:
            return None
        due = published_epochs(self.name, row)
        results = [result for entry in self.group(row, column) for result in entry.successes.values()]
        if due and any((result.training or {}).get("epochs", due) != due for result in results):
            return None
        return published_value(self.name, row, column)

    @property
    def headline(self) -> str:
        """The one number of a row: its mean over the columns, or its only column; "" where there is neither."""
        return MEAN if MEAN in self.means else self.columns[0] if len(self.columns) == 1 else ""

    def group(self, row: str, title: str) -> list[Entry]:
        """Return a row's entries of a column, or of the columns of a mean; none of a mean that it lacks a column of."""
        entries = [self.entries.get((row, column)) for column in self.means.get(title, (title,))]
        present = [entry for entry in entries if entry is not None]
        return present if len(present) == len(entries) else []

    def summary(self, row: str, title: str = "") -> Summary | None:
        """Return a row's number in a column or over a mean's columns, of the seeds that have them all.

        Without a title it is the headline.
        """
        values = [entry.values(self.metric.name) for entry in self.group(row, title or self.headline)]
        complete = [seed for seed in self.seeds if values and all(seed in own for own in values)]
        return summarize({seed: statistics.mean(own[seed] for own in values) for seed in complete})

    def display_value(self, row: str, title: str = "") -> tuple[float, float] | None:
        """Return the mean and spread of such a number in the unit that is shown, a spread of 0 where none is known."""
        value = self.summary(row, title)
        return None if value is None else (self.metric.scale(value.mean), self.metric.scale(value.spread or 0))


def summarize(values: Mapping[int, float]) -> Summary | None:
    """Return the mean and the spread of one value a seed; None of no values."""
    if not values:
        return None
    # exact sums, so that the spread of equal values is zero
    spread = statistics.stdev(values.values()) if len(values) > 1 else None
    return Summary(statistics.mean(values.values()), spread, tuple(values))


def display_name(name: str) -> str:
    """Return a name as it is read: gaussian_noise is gaussian noise."""
    return name.replace("_", " ")
