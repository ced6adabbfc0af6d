"""Entropy, confidence and class balance along a stream; no labels are needed."""

from dataclasses import dataclass

import numpy as np

from tent.analysis.collector import Collector
from tent.analysis.numbers import Numbers, Row, Value
from tent.analysis.observation import Floats, Observation

MOST = 256  # points along the stream; neighbours are joined beyond


@dataclass
class _Point:
    images: int
    entropy: float
    confidence: float
    answers: Floats  # how often each class
    wrong: float
    domain: str

    def join(self, other: "_Point") -> "_Point":
        return _Point(
            self.images + other.images,
            self.entropy + other.entropy,
            self.confidence + other.confidence,
            self.answers + other.answers,
            self.wrong + other.wrong,
            self.domain,
        )


class AlongStream(Collector):
    """What was answered, point by point of a stream: a batch each, or as many neighbours as 256 points ask for."""

    name = "stream"
    needs_labels = False

    def __init__(self, most: int = MOST) -> None:
        if most < 2 or most % 2:
            raise ValueError(f"most {most}: give an even number of points, 2 or more")
        self._most, self._stride = most, 1
        self._points: dict[str, list[_Point]] = {}
        self._batches, self._labelled = 0, True
        self._domains: set[str] = set()

    def add(self, seen: Observation) -> None:
        """Count a batch."""
        self._domains.add(seen.domain.name)
        for method, own in seen.by_method.items():
            counts = np.bincount(own.answers, minlength=own.classes).astype(np.float64)
            self._labelled &= own.wrong is not None
            wrong = float(own.wrong.sum()) if own.wrong is not None else 0.0
            sums = float(own.entropy.sum()), float(own.confidence.sum())
            point, points = (
                _Point(len(seen), *sums, counts, wrong, seen.domain.name),
                self._points.setdefault(method, []),
            )
            if self._batches % self._stride:
                points[-1] = points[-1].join(point)
            else:
                points.append(point)
        self._batches += 1
        if self._batches == self._stride * self._most:
            self._stride *= 2
            for method, points in self._points.items():
                self._points[method] = [a.join(b) for a, b in zip(points[::2], points[1::2], strict=True)]

    def numbers(self) -> Numbers:
        """Return the points; `effective classes` are as many as the answers are as varied as, equally often each."""
        rows: list[Row] = []
        for method, points in self._points.items():
            ends = np.cumsum([point.images for point in points]).tolist()
            for end, point in zip(ends, points, strict=True):
                row: dict[str, Value] = {"method": method, "domain": point.domain, "images": end}
                row |= {"entropy": point.entropy / point.images, "confidence": point.confidence / point.images}
                row["effective classes"] = effective_classes(point.answers)
                row["commonest"] = float(point.answers.max()) / point.images
                rows.append({**row, **({"error": point.wrong / point.images} if self._labelled else {})})
        first = next((points[0] for points in self._points.values()), None)
        classes, images = (first.answers.size, first.images) if first else (0, 0)
        about: dict[str, float] = {"batches a point": self._stride, "batches": self._batches, "classes": classes}
        about["effective classes of uniform answers"] = effective_classes_by_chance(classes, images)
        return Numbers(self.name, {"": rows}, about, self._notes())

    def _notes(self) -> list[str]:
        if len(self._domains) < 2:
            return []
        ends = f"{len(self._domains)} domains follow one another, each from the source"
        return [f"{ends}: running means in the picture, and points of several batches, go across their ends"]


def effective_classes_by_chance(classes: int, images: int, draws: int = 200) -> float:
    """Return the effective classes of answers to so few images that are drawn evenly from all classes: a mean."""
    if not classes or not images:
        return 0.0
    random = np.random.default_rng(0)
    counts = random.multinomial(images, np.full(classes, 1 / classes), size=draws)
    return float(np.mean([effective_classes(own.astype(np.float64)) for own in counts]))


def effective_classes(answers: Floats) -> float:
    """Return the exponential of the answers' entropy: n where n classes are answered equally often."""
    shares = answers[answers > 0] / answers.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))
