"""Confusion of classes: which mistakes go away, and which new ones come."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tent.analysis.collector import Collector
from tent.analysis.numbers import Numbers, Row
from tent.analysis.observation import Integers, Observation


class Confusion(Collector):
    """How often images of a class were answered with another, before and after."""

    name = "confusion"

    def __init__(self, class_names: Sequence[str] | None = None) -> None:
        self._names = tuple(class_names or ())
        self._counts: dict[str, Integers] = {}  # method -> images by class and answer

    def add(self, seen: Observation) -> None:
        """Count a batch."""
        if seen.labels is None:
            raise ValueError(f"{self.name} needs labels, and the stream has none")
        for method, own in seen.by_method.items():
            counts = self._counts.setdefault(method, np.zeros((own.classes, own.classes), dtype=np.int64))
            np.add.at(counts, (seen.labels, own.answers), 1)

    def numbers(self) -> Numbers:
        """Return the images of every pair of class and answer that occurs, and how much the first and last differ."""
        methods, stack = list(self._counts), np.stack(list(self._counts.values()))
        names = _tell_apart(self._names if len(self._names) == stack.shape[1] else [*map(str, range(stack.shape[1]))])
        rows: list[Row] = [
            {"class": names[i], "answer": names[j], **dict(zip(methods, stack[:, i, j].tolist(), strict=True))}
            for i, j in np.argwhere(stack.any(0)).tolist()
        ]
        right = {method: int(np.trace(counts)) for method, counts in self._counts.items()}
        about = {"classes": names, "methods": methods, "images": int(stack[0].sum()), "right": right}
        return Numbers(self.name, {"": rows}, about)


def _tell_apart(names: Sequence[str]) -> list[str]:
    """Return the names, with the number of the class behind those that several classes have, as ImageNet's cranes."""
    count = Counter(names)
    return [f"{name} ({i})" if count[name] > 1 else name for i, name in enumerate(names)]
