"""The record of a run: what the source and the adapted model said of every image, in the order they came."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tent.losses import confidence, entropy


@dataclass
class Answers:
    """One model's predictions: class, confidence and entropy of each image."""

    classes: list[NDArray[np.int64]] = field(default_factory=list)
    confidences: list[NDArray[np.float32]] = field(default_factory=list)
    entropies: list[NDArray[np.float32]] = field(default_factory=list)

    def add(self, logits: Tensor) -> None:
        """Note a batch of logits, (n, classes)."""
        if logits.dim() != 2:
            raise ValueError(f"logits of shape {tuple(logits.shape)}; a record is of one class an image, (n, classes)")
        self.classes.append(logits.argmax(1).cpu().numpy())
        self.confidences.append(confidence(logits).cpu().numpy())
        self.entropies.append(entropy(logits).cpu().numpy())


@dataclass
class Record:
    """The answers before (the source's) and after adaptation, and the labels where they are known."""

    class_names: tuple[str, ...]
    before: Answers = field(default_factory=Answers)
    after: Answers = field(default_factory=Answers)
    labels: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, before: Tensor, after: Tensor, labels: Tensor | None) -> None:
        """Note one batch."""
        self.before.add(before)
        self.after.add(after)
        if labels is not None:
            self.labels.append(labels.numpy())

    def errors(self, answers: Answers) -> list[float] | None:
        """Return the error of each batch, where labels are known."""
        if not self.labels:
            return None
        return [float((y != c).mean()) for y, c in zip(self.labels, answers.classes, strict=True)]

    def summary(self) -> dict[str, object]:
        """Return the run in numbers."""
        before, after = np.concatenate(self.before.classes), np.concatenate(self.after.classes)
        numbers: dict[str, object] = {
            "images": len(after),
            "entropy_before": float(np.concatenate(self.before.entropies).mean()),
            "entropy_after": float(np.concatenate(self.after.entropies).mean()),
            "changed": float((before != after).mean()),
            "histogram_before": self.histogram(before),
            "histogram_after": self.histogram(after),
        }
        if self.labels:
            labels = np.concatenate(self.labels)
            numbers["error_before"] = float((before != labels).mean())
            numbers["error_after"] = float((after != labels).mean())
        return numbers

    def histogram(self, classes: NDArray[np.int64]) -> dict[str, int]:
        """Return how often each class was answered."""
        counts = np.bincount(classes, minlength=len(self.class_names))
        return dict(zip(self.class_names, counts.tolist(), strict=True))


def names_of(classes: int, known: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the classes' names, or their numbers where the names are not known or not these."""
    return known if known and len(known) == classes else tuple(str(i) for i in range(classes))
