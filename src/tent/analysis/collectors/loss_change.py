"""Change of entropy against change of loss, image by image (the paper's Figure 6)."""

import math

import numpy as np

from tent.analysis.collector import Collector
from tent.analysis.numbers import Numbers, Row
from tent.analysis.observation import Floats, Observation
from tent.analysis.ranks import MOST, Reservoir, rank_correlation


class ChangeOfLoss(Collector):
    """The density of (ΔH, ΔL), each divided by log of the number of classes and clipped to ±1, for pairs of methods.

    The rank correlation is of the values as drawn: exact up to a million images, of a random million beyond.
    """

    name = "change-of-loss"

    def __init__(self, bins: int = 80, most: int = MOST) -> None:
        self._edges = np.linspace(-1, 1, bins + 1)
        self._most = most
        self._counts: dict[tuple[str, str], Floats] = {}
        self._points: dict[tuple[str, str], Reservoir] = {}

    def add(self, seen: Observation) -> None:
        """Count a batch."""
        methods = list(seen.by_method)
        for pair in [(a, b) for i, a in enumerate(methods) for b in methods[i + 1 :]]:
            before, after = (seen.by_method[name] for name in pair)
            if before.loss is None or after.loss is None:
                raise ValueError(f"{self.name} needs labels, and the stream has none")
            scale = math.log(after.classes)
            change = (after.entropy - before.entropy) / scale, (after.loss - before.loss) / scale
            self._points.setdefault(pair, Reservoir(2, self._most)).add(*change)
            drawn, edges = np.clip(change, -1, 1), (self._edges, self._edges)
            counts = np.histogram2d(drawn[0], drawn[1], bins=edges)[0]
            self._counts[pair] = self._counts[pair] + counts if pair in self._counts else counts

    def numbers(self) -> Numbers:
        """Return the cells that hold any image, and for each pair the rank correlation and where most images went."""
        if not self._counts:
            raise ValueError(
                f"{self.name}: compares two methods, and was told of one or none; analyse another beside it"
            )
        rows = [row for pair in self._counts for row in self._cells(pair)]
        notes = [] if all(p.whole for p in self._points.values()) else [f"correlations are of {self._most:,} images"]
        summary = {f"{a} to {b}": _describe(points) for (a, b), points in self._points.items()}
        return Numbers(self.name, {"": rows}, {"bins": len(self._edges) - 1, **summary}, notes)

    def _cells(self, pair: tuple[str, str]) -> list[Row]:
        counts, edges = self._counts[pair], self._edges[:-1].tolist()
        places = np.argwhere(counts)
        return [
            {"before": pair[0], "after": pair[1], "entropy": edges[i], "loss": edges[j], "images": int(counts[i, j])}
            for i, j in places.tolist()
        ]


def _describe(points: Reservoir) -> dict[str, float | None]:
    entropy, loss = points.rows.T
    return {
        "images": points.seen,
        "rank correlation": rank_correlation(np.clip(entropy, -1, 1), np.clip(loss, -1, 1)),
        "before clipping": rank_correlation(entropy, loss),
        "lower entropy": float((entropy < 0).mean()),
        "lower loss": float((loss < 0).mean()),
        "lower both": float(((entropy < 0) & (loss < 0)).mean()),
    }
