"""Classification: error, cross-entropy, entropy and calibration error, in float64."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tent.tasks.task import Sums, Task

BINS = 15  # of the calibration error, as in Guo et al. 2017
FIRST_BIN = 4  # among the sums: after samples, wrong answers, cross-entropy and entropy


class Classification(Task):
    """One class for a sample, or for each of its places: logits (n, classes, ...) and labels (n, ...)."""

    metrics = ("error", "cross_entropy", "entropy", "ece")
    primary = label = "error"

    def count(self, logits: Tensor, labels: Tensor) -> Sums:
        """Return samples, wrong answers, sums of both entropies, and accuracy less confidence in each bin."""
        self._check_classes(logits)
        z, y = self._flatten(logits, labels)
        _check(z, y)
        log = _log_probabilities(z)
        sure, answers = np.exp(log.max(1)), z.argmax(1)
        gaps = np.bincount(confidence_bins(sure), weights=(answers == y) - sure, minlength=BINS)
        sums = [len(y), (answers != y).sum(), -log[np.arange(len(y)), y].sum(), -(np.exp(log) * log).sum()]
        return np.concatenate([np.array(sums, dtype=np.float64), gaps])

    def compute(self) -> dict[str, float]:
        """Return the share of wrong answers, the mean entropies in nats, and the expected calibration error."""
        if self.sums is None or not self.sums[0]:
            return dict.fromkeys(self.metrics, float("nan"))
        totals = [*self.sums[1:FIRST_BIN], np.abs(self.sums[FIRST_BIN:]).sum()]
        return {name: float(total / self.sums[0]) for name, total in zip(self.metrics, totals, strict=True)}

    def _flatten(self, logits: Tensor, labels: Tensor) -> tuple[Sums, NDArray[np.int64]]:
        places = logits.movedim(1, -1).shape[:-1]
        if tuple(labels.shape) != tuple(places):
            raise ValueError(f"labels of shape {tuple(labels.shape)} for logits of shape {tuple(logits.shape)}")
        z = logits.detach().movedim(1, -1).reshape(-1, logits.shape[1]).to("cpu", torch.float64).numpy()
        y = labels.detach().reshape(-1).cpu().numpy().astype(np.int64)
        return (z, y) if self.ignore is None else (z[y != self.ignore], y[y != self.ignore])


def confidence_bins(confidence: Sums, bins: int = BINS) -> NDArray[np.int64]:
    """Return the place of each confidence among bins of equal width, (a, b] as published; 0 is in the first."""
    return np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)


def _log_probabilities(logits: Sums) -> Sums:
    shifted = logits - logits.max(1, keepdims=True)
    result: Sums = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return result


def _check(logits: Sums, labels: NDArray[np.int64]) -> None:
    if not np.isfinite(logits).all():
        bad = int((~np.isfinite(logits)).any(1).sum())
        raise ValueError(f"the model answered {bad:,} of {len(logits):,} images with NaN or Inf; nothing to measure")
    if len(labels) and int(labels.max()) >= logits.shape[1]:
        raise ValueError(f"a label is {int(labels.max())}, but the model answers with {logits.shape[1]} classes")
    if len(labels) and int(labels.min()) < 0:
        raise ValueError(f"a label is {int(labels.min())}; labels count from 0")
