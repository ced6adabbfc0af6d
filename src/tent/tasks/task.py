"""What every task answers to: it counts what each batch adds, and computes metrics from the sums."""

import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tent.engine.structures import Inputs, Picker, find_logits

Sums = NDArray[np.float64]


class Task:
    """Metrics of a stream's logits and labels; nothing but their sums is held.

    Args:
        classes: the number of classes of the labels, if known.
        ignore: a label that is not counted.
    """

    metrics: ClassVar[tuple[str, ...]]  # that every batch has
    primary: ClassVar[str]  # the one that a table shows
    label: ClassVar[str]  # what the primary metric is called there
    unit: ClassVar[str] = "%"
    higher_is_better: ClassVar[bool] = False

    def __init__(self, classes: int | None = None, ignore: int | None = None) -> None:
        self.classes, self.ignore = classes, ignore
        self.sums: Sums | None = None

    def read(self, output: Any, inputs: Inputs, labels: Any, pick: Picker | None = None) -> tuple[Tensor, Tensor]:
        """Return the logits in what a model returned for these inputs, and the labels that belong to them."""
        return find_logits(output, inputs, pick), labels

    def update(self, logits: Tensor, labels: Tensor) -> None:
        """Count a batch of logits, classes on axis 1, and their labels."""
        self._add(self.count(logits, labels))

    def count(self, logits: Tensor, labels: Tensor) -> Sums:
        """Return what a batch adds to the sums."""
        raise NotImplementedError

    def compute(self) -> dict[str, float]:
        """Return every metric of what was counted, NaN where nothing was."""
        raise NotImplementedError

    def fresh(self) -> "Task":
        """Return the same task with nothing counted."""
        other = copy.copy(self)
        other.sums = None
        return other

    def merge(self, other: "Task") -> None:
        """Count what another task of this kind has counted."""
        if other.sums is not None:
            self._add(other.sums)

    def _add(self, sums: Sums) -> None:
        self.sums = sums if self.sums is None else self.sums + sums

    def _check_classes(self, logits: Tensor) -> None:
        if self.classes is not None and logits.shape[1] < self.classes:
            raise ValueError(f"the data has {self.classes} classes, but the model answers with {logits.shape[1]}")
