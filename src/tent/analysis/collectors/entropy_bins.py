"""Error by entropy of the prediction (the paper's Figure 1): are certain predictions right more often?"""

import math

import numpy as np

from tent.analysis.collector import Collector
from tent.analysis.numbers import FEWEST, Numbers, Row, number, share
from tent.analysis.observation import Floats, Observation, Predictions
from tent.analysis.ranks import MOST, Reservoir

WIDTH, COUNT = "equal width", "equal count"


class ErrorByEntropy(Collector):
    """The share of wrong answers in bins of entropy, of equal width and of equal count, with the images in each.

    Bins of equal count need all entropies; they are exact up to a million images, and of a random million beyond.
    """

    name = "error-by-entropy"

    def __init__(self, bins: int = 20, most: int = MOST) -> None:
        if bins < 1:
            raise ValueError(f"bins {bins}: give 1 or more")
        self._bins, self._most = bins, most
        self._classes = 0
        self._sums: dict[str, Floats] = {}  # method -> images, wrong answers and entropy, a column a bin
        self._samples: dict[str, Reservoir] = {}

    def add(self, seen: Observation) -> None:
        """Count a batch."""
        for method, own in seen.by_method.items():
            self._classes = own.classes
            sums = self._sums.setdefault(method, np.zeros((3, self._bins)))
            place = np.clip((own.entropy / math.log(own.classes) * self._bins).astype(int), 0, self._bins - 1)
            for row, weights in enumerate((None, _wrong(own), own.entropy)):
                sums[row] += np.bincount(place, weights, self._bins)
            self._samples.setdefault(method, Reservoir(2, self._most)).add(own.entropy, _wrong(own))

    def numbers(self) -> Numbers:
        """Return the bins of both kinds, method by method, and what their ends come to."""
        rows = [row for method in self._sums for row in (*self._equal_count(method), *self._equal_width(method))]
        empty = {m: int((sums[0] == 0).sum()) for m, sums in self._sums.items() if (sums[0] == 0).any()}
        notes = [f"{method}: {n} of {self._bins} bins of equal width are empty" for method, n in empty.items()]
        if any(not sample.whole for sample in self._samples.values()):
            notes.append(f"bins of equal count are of {self._most:,} images, drawn at random from all")
        counts = [
            number(row, "images") for row in self._equal_count(next(iter(self._sums)))
        ]  # the same for all methods
        if few := sum(count < FEWEST for count in counts):
            notes.append(f"{few} of {len(counts)} bins of equal count have fewer than {FEWEST} images: not drawn")
        ends = {}
        for method in self._sums:
            own = [row for row in rows if row["method"] == method and row["bins"] == COUNT and row["images"]]
            ends[method] = {"error of the most certain": own[0]["error"], "of the least certain": own[-1]["error"]}
        return Numbers(self.name, {"": rows}, {"classes": self._classes, "bins": self._bins, **ends}, notes)

    def _equal_width(self, method: str) -> list[Row]:
        edges = np.linspace(0, math.log(self._classes), self._bins + 1)
        found = zip(edges[:-1], edges[1:], *self._sums[method], strict=True)
        return [_row(method, WIDTH, i, *map(float, values)) for i, values in enumerate(found)]

    def _equal_count(self, method: str) -> list[Row]:
        kept = self._samples[method].rows
        ordered = kept[np.argsort(kept[:, 0], kind="stable")]
        parts = [part for part in np.array_split(ordered, self._bins) if len(part)]
        return [
            _row(method, COUNT, i, float(h[0]), float(h[-1]), len(h), float(wrong.sum()), float(h.sum()))
            for i, (h, wrong) in enumerate(part.T for part in parts)
        ]


def _wrong(own: Predictions) -> Floats:
    if own.wrong is None:
        raise ValueError(f"{ErrorByEntropy.name} needs labels, and the stream has none")
    return own.wrong.astype(np.float64)


def _row(method: str, kind: str, place: int, low: float, high: float, images: float, wrong: float, h: float) -> Row:
    return {
        "bins": kind,
        "method": method,
        "bin": place,
        "low": low,
        "high": high,
        "images": int(images),
        "wrong": int(wrong),
        "entropy": share(h, images),
        "error": share(wrong, images),
    }
