"""Whether classes come in runs along a stream, told from predictions, or from labels where there are some."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

LAGS = 8  # neighbours are at most so many places apart
IMAGES = 32  # beside those of the class that is seen most, before anything is said
EXCESS = 0.08  # share of neighbours that are alike and need not be; a shuffled stream has none
SIGMAS = 8.0
SORTED = "classes come in runs"


class ClassRuns:
    """Counts neighbours of one predicted class, and compares them with what the classes' frequencies would give."""

    def __init__(self, classes: NDArray[np.int64] | None = None) -> None:
        self.counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.pairs, self.alike = 0, 0
        self.last: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        if classes is not None:
            self.add(classes)

    def add(self, classes: NDArray[np.int64]) -> None:
        """Note the classes of one batch, in the stream's order."""
        counts = np.bincount(classes, minlength=len(self.counts))
        counts[: len(self.counts)] += self.counts
        self.counts = counts
        row = np.concatenate((self.last, classes))
        for lag in range(1, min(LAGS, len(row) - 1) + 1):
            first = max(len(self.last), lag)
            self.pairs += len(row) - first
            self.alike += int((row[first:] == row[first - lag : len(row) - lag]).sum())
        self.last = row[-LAGS:]

    @property
    def expected(self) -> float:
        """The share of neighbours that would be alike in any shuffled order of these predictions."""
        return float((self._shares**2).sum())

    @property
    def found(self) -> bool:
        """Whether classes come in runs, beyond what chance makes of them."""
        chance = self.expected
        if self.counts.sum() - self.counts.max(initial=0) < IMAGES:  # two rare images side by side are no run
            return False
        surplus = self.alike / self.pairs - chance
        # what is left of a pair's variance once the frequencies are known; pairs are then uncorrelated
        variance = chance + chance**2 - 2 * float((self._shares**3).sum())
        return surplus / (1 - chance) > EXCESS and surplus > SIGMAS * math.sqrt(max(variance, 0) / self.pairs)

    @property
    def warning(self) -> str:
        """What was seen and what to do, in one line."""
        seen = f"{self.alike / self.pairs:.0%} of neighbours are of one class, {self.expected:.0%} if shuffled"
        remedy = "pass --order shuffled, or where the order is real a larger --batch, or --stats source"
        return f"{SORTED} along this stream ({seen}), which adaptation suffers from; {remedy}"

    @property
    def _shares(self) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = self.counts / max(int(self.counts.sum()), 1)
        return shares


def describe_runs(labels: Mapping[str, NDArray[np.int64]]) -> str | None:
    """Say of the first of these streams whose classes come in runs; figures of it show what its order does."""
    for name, own in labels.items():
        if (runs := ClassRuns(own)).found:
            return f"{name}: {runs.warning}"
    return None
