"""Statistics of features that add up batch by batch: moments of channels, distances between them, and linear CKA."""

import math

import numpy as np

from tent.analysis.observation import Floats

STILL = 1e-6  # of its mean, or of what most channels vary by: a smaller deviation is rounding
EDGES = np.linspace(-5, 5, 61)  # deviations of the clean features; what lies beyond counts at the ends


class Moments:
    """Mean and deviation of every channel."""

    def __init__(self) -> None:
        self.count = 0
        self.mean: Floats = np.zeros(0)
        self._squares: Floats = np.zeros(0)  # summed, about the mean

    def add(self, features: Floats) -> None:
        """Count a batch, (n, channels)."""
        if not self.count:
            self.mean = self._squares = np.zeros(features.shape[1])
        count, mean = len(features), features.mean(0)
        gap, whole = mean - self.mean, self.count + count
        self._squares = self._squares + ((features - mean) ** 2).sum(0) + gap**2 * (self.count * count / whole)
        self.mean = self.mean + gap * (count / whole)
        self.count = whole

    @property
    def deviation(self) -> Floats:
        """The standard deviation of each channel."""
        found: Floats = np.sqrt(self._squares / self.count)
        return found

    @property
    def unit(self) -> Floats:
        """The deviation, and 0 where a channel does not vary but for rounding."""
        found = self.deviation
        least = STILL * np.maximum(np.abs(self.mean), np.median(found))
        varies: Floats = np.where(found > least, found, 0.0)
        return varies


def frechet_distance(one: Moments, other: Moments, unit: Floats) -> float | None:
    """Return the distance of two sets of features, each channel a Gaussian, in units of a deviation a channel.

    For one channel it is sqrt((Δmean)² + (Δdeviation)²), which is the 2-Wasserstein distance too; the root mean square
    over channels is returned. Channels whose unit is 0 are left out.
    """
    alive = unit > 0
    if not alive.any():
        return None
    squares = (one.mean - other.mean) ** 2 + (one.deviation - other.deviation) ** 2
    return float(np.sqrt((squares[alive] / unit[alive] ** 2).mean()))


class Alignment:
    """Linear CKA (Kornblith et al. 2019) of two views of the same images, by sums of products of their channels."""

    def __init__(self) -> None:
        self._count = 0
        self._origin: tuple[Floats, Floats] | None = None  # near the means, so that no digits are lost
        self._sums: list[Floats] = []
        self._products: list[Floats] = []  # of one with itself, the other with itself, and both

    def add(self, one: Floats, other: Floats) -> None:
        """Count a batch of pairs, (n, channels) each."""
        if len(one) != len(other):
            raise ValueError(f"{len(one)} and {len(other)} images of a batch are no pairs: some could not be read")
        if self._origin is None:
            self._origin = one.mean(0), other.mean(0)
        x, y = one - self._origin[0], other - self._origin[1]
        sums, products = [x.sum(0), y.sum(0)], [x.T @ x, y.T @ y, x.T @ y]
        self._sums = [a + b for a, b in zip(self._sums, sums, strict=True)] if self._sums else sums
        self._products = [a + b for a, b in zip(self._products, products, strict=True)] if self._products else products
        self._count += len(x)

    def compute(self) -> float | None:
        """Return it: 1 for features that are the same up to rotation and scale; None if either never varies."""
        if not self._count:
            return None
        x, y = self._sums
        means = [np.outer(x, x), np.outer(y, y), np.outer(x, y)]
        centred = [product - mean / self._count for product, mean in zip(self._products, means, strict=True)]
        own, others, both = (float((product**2).sum()) for product in centred)
        return both / math.sqrt(own * others) if own * others > 0 else None


class Density:
    """The share of values in bins of the clean features' own deviations, all channels together."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(EDGES) - 1)

    def add(self, features: Floats, clean: Moments) -> None:
        """Count a batch."""
        unit = clean.unit
        alive = unit > 0
        z = (features[:, alive] - clean.mean[alive]) / unit[alive]
        self._counts += np.histogram(np.clip(z, EDGES[0], EDGES[-1]), EDGES)[0]

    @property
    def shares(self) -> Floats:
        """The share of each bin."""
        total = self._counts.sum()
        found: Floats = self._counts / total if total else self._counts
        return found
