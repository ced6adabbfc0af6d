"""Rank correlation, and samples of bounded size that it is exact on."""

import numpy as np

from tent.analysis.observation import Floats, Integers

MOST = 1_000_000  # rows kept: all 750,000 predictions of CIFAR-100-C, in 16 MB for two columns


def rank_correlation(one: Floats, other: Floats) -> float | None:
    """Return Spearman's rank correlation, equal values sharing their mean rank; None if either is constant."""
    first, second = _ranks(np.asarray(one)), _ranks(np.asarray(other))
    if len(first) != len(second):
        raise ValueError(f"{len(first):,} values beside {len(second):,}; a rank correlation is of pairs")
    first, second = first - first.mean() if len(first) else first, second - second.mean() if len(second) else second
    spread = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / spread if spread else None


class Reservoir:
    """Rows of numbers: all of them up to a number, an even random sample of all that came beyond it.

    Every row draws a key, and those of the least keys stay; so the sample depends on the seed and the order alone.
    """

    def __init__(self, columns: int, most: int = MOST, seed: int = 0) -> None:
        self._columns, self._most = columns, most
        self._random = np.random.default_rng(seed)
        self._rows: list[Floats] = []
        self._keys: list[Floats] = []
        self.seen = self._held = 0

    def add(self, *columns: Floats) -> None:
        """Offer rows, given column by column."""
        rows = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
        self._rows.append(rows)
        self._keys.append(self._random.random(len(rows)))
        self.seen += len(rows)
        self._held += len(rows)
        if self._held > self._most + max(self._most // 4, len(rows)):  # now and then: a cut costs a pass over all
            self._cut()

    @property
    def rows(self) -> Floats:
        """The rows that are kept, in the order that they came, (n, columns)."""
        self._cut()
        return self._rows[0] if self._rows else np.zeros((0, self._columns))

    @property
    def whole(self) -> bool:
        """Whether every row that came is kept."""
        return self.seen <= self._most

    def _cut(self) -> None:
        if not self._rows:
            return
        rows, keys = np.concatenate(self._rows), np.concatenate(self._keys)
        if len(rows) > self._most:
            least = np.sort(np.argpartition(keys, self._most)[: self._most])
            rows, keys = rows[least], keys[least]
        self._rows, self._keys, self._held = [rows], [keys], len(rows)


def _ranks(values: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(values) else order
    ends: Integers = np.append(starts[1:], len(values))
    ranks = np.empty(len(values))
    ranks[order] = np.repeat((starts + ends - 1) / 2, ends - starts)
    return ranks
