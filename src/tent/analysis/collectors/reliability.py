"""Calibration: is a prediction of confidence p right in a share p of cases?"""

import numpy as np

from tent.analysis.collector import Collector
from tent.analysis.numbers import Numbers, Row, share
from tent.analysis.observation import Floats, Observation
from tent.tasks.classification import BINS, confidence_bins


class Calibration(Collector):
    """The reliability diagram over 15 bins of confidence, and the expected calibration error (ECE) that it sums to."""

    name = "calibration"

    def __init__(self, bins: int = BINS) -> None:
        self._bins = bins
        self._sums: dict[str, Floats] = {}  # method -> images, right answers and confidence, a column a bin

    def add(self, seen: Observation) -> None:
        """Count a batch."""
        for method, own in seen.by_method.items():
            if own.wrong is None:
                raise ValueError(f"{self.name} needs labels, and the stream has none")
            sums = self._sums.setdefault(method, np.zeros((3, self._bins)))
            place = confidence_bins(own.confidence, self._bins)
            for row, weights in enumerate((None, ~own.wrong, own.confidence)):
                sums[row] += np.bincount(place, weights, self._bins)

    def numbers(self) -> Numbers:
        """Return every bin of every method, and each method's calibration error, accuracy and mean confidence."""
        rows: list[Row] = []
        summary = {}
        for method, sums in self._sums.items():
            for place, (images, right, sure) in enumerate(sums.T.tolist()):
                edges = {"low": place / self._bins, "high": (place + 1) / self._bins}
                means = {"confidence": share(sure, images), "accuracy": share(right, images)}
                rows.append({"method": method, "bin": place, **edges, "images": int(images), **means})
            images, right, sure = sums
            total = float(images.sum())
            summary[method] = {
                "ece": float(np.abs(right - sure).sum()) / total,
                "accuracy": float(right.sum()) / total,
                "confidence": float(sure.sum()) / total,
            }
        empty = {method: int((sums[0] == 0).sum()) for method, sums in self._sums.items()}
        notes = [f"{method}: {n} of {self._bins} bins are empty" for method, n in empty.items() if n]
        return Numbers(self.name, {"": rows}, summary, notes)
