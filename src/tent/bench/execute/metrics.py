"""Metrics: pure functions of logits (n, classes) and labels (n), in float64."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
BINS = 15  # of the calibration error, as in Guo et al. 2017


def error(logits: Floats, labels: Labels) -> float:
    """Return the share of wrong answers."""
    return float((logits.argmax(1) != labels).mean())


def cross_entropy(logits: Floats, labels: Labels) -> float:
    """Return the mean cross-entropy to the labels, in nats."""
    return float(-_log_probabilities(logits)[np.arange(len(labels)), labels].mean())


def entropy(logits: Floats, labels: Labels) -> float:
    """Return the mean entropy of the predictions, in nats; labels are not looked at."""
    log = _log_probabilities(logits)
    return float(-(np.exp(log) * log).sum(1).mean())


def ece(logits: Floats, labels: Labels) -> float:
    """Return the expected calibration error: |accuracy - confidence| over equal bins of confidence, by their share."""
    sure = np.exp(_log_probabilities(logits).max(1))
    right = (logits.argmax(1) == labels).astype(np.float64)
    bins = np.clip(np.ceil(sure * BINS).astype(np.int64) - 1, 0, BINS - 1)  # (a, b], as published
    gaps = np.bincount(bins, weights=right - sure, minlength=BINS)
    return float(np.abs(gaps).sum() / len(labels))


METRICS: dict[str, Callable[[Floats, Labels], float]] = {
    "error": error,
    "cross_entropy": cross_entropy,
    "entropy": entropy,
    "ece": ece,
}


def measured(logits: Sequence[NDArray[np.float32]], labels: Sequence[Labels]) -> dict[str, float]:
    """Return every metric over a stream of batches."""
    whole, answers = np.concatenate(logits).astype(np.float64), np.concatenate(labels)
    _check(whole, answers)
    return {name: metric(whole, answers) for name, metric in METRICS.items()}


def by_batch(logits: Sequence[NDArray[np.float32]], labels: Sequence[Labels]) -> dict[str, list[float]]:
    """Return every metric of each batch, to five places: thousands of them are kept in a file."""
    pairs = [(part.astype(np.float64), own) for part, own in zip(logits, labels, strict=True)]
    return {name: [round(metric(*pair), 5) for pair in pairs] for name, metric in METRICS.items()}


def _log_probabilities(logits: Floats) -> Floats:
    shifted = logits - logits.max(1, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return result


def _check(logits: Floats, labels: Labels) -> None:
    if not np.isfinite(logits).all():
        bad = int((~np.isfinite(logits)).any(1).sum())
        raise ValueError(f"the model answered {bad:,} of {len(logits):,} images with NaN or Inf; nothing to measure")
    if int(labels.max()) >= logits.shape[1]:
        raise ValueError(f"a label is {int(labels.max())}, but the model answers with {logits.shape[1]} classes")
