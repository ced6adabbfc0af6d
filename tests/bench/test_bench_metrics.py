"""Metrics against numbers that were added up by hand, and against torch."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from tent.bench.execute.metrics import METRICS, by_batch, cross_entropy, ece, entropy, error, measured

# probabilities (3/4, 1/4), (1/2, 1/2) and (1/10, 9/10): a right answer, a tie (the first), and a wrong one
LOGITS = np.log(np.array([[0.75, 0.25], [0.5, 0.5], [0.1, 0.9]]))
LABELS = np.array([0, 0, 0])


def test_error() -> None:
    assert error(LOGITS, LABELS) == pytest.approx(1 / 3)


def test_cross_entropy() -> None:
    assert cross_entropy(LOGITS, LABELS) == pytest.approx(-(math.log(0.75) + math.log(0.5) + math.log(0.1)) / 3)


def test_entropy() -> None:
    first = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    last = -(0.1 * math.log(0.1) + 0.9 * math.log(0.9))
    assert entropy(LOGITS, LABELS) == pytest.approx((first + math.log(2) + last) / 3)


def test_calibration_error() -> None:
    # the bins of 3/4, 1/2 and 9/10 hold one each: |1 - 3/4|, |1 - 1/2| and |0 - 9/10|, a third each
    assert ece(LOGITS, LABELS) == pytest.approx((0.25 + 0.5 + 0.9) / 3)


def test_calibration_error_is_taken_bin_by_bin() -> None:
    # 0.81 and 0.85 share the bin (12/15, 13/15]; one is right, so its accuracy is 1/2 and its confidence 0.83
    logits = np.log(np.array([[0.81, 0.19], [0.85, 0.15], [1 - 1e-12, 1e-12]]))
    assert ece(logits, np.array([0, 1, 0])) == pytest.approx((2 * abs(0.5 - 0.83) + 1e-12) / 3)


def test_a_stream_is_the_mean_of_its_images_and_batches_stand_alone() -> None:
    parts, labels = [LOGITS[:2].astype(np.float32), LOGITS[2:].astype(np.float32)], [LABELS[:2], LABELS[2:]]
    over = measured(parts, labels)
    assert over["error"] == pytest.approx(1 / 3)
    assert over["ece"] == pytest.approx((0.25 + 0.5 + 0.9) / 3)
    batches = by_batch(parts, labels)
    assert batches["error"] == [0.0, 1.0]
    assert batches["cross_entropy"] == [round(-(math.log(0.75) + math.log(0.5)) / 2, 5), round(-math.log(0.1), 5)]
    assert list(over) == list(batches) == list(METRICS)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(2, 12), st.integers(0, 2**31), st.floats(0.1, 300))
def test_metrics_agree_with_torch_at_every_scale(n: int, classes: int, seed: int, scale: float) -> None:
    generator = np.random.default_rng(seed)
    logits, labels = generator.normal(size=(n, classes)) * scale, generator.integers(0, classes, n)
    x, y = torch.from_numpy(logits), torch.from_numpy(labels)
    assert cross_entropy(logits, labels) == pytest.approx(F.cross_entropy(x, y).item(), rel=1e-9, abs=1e-12)
    spread = torch.distributions.Categorical(logits=x).entropy().mean().item()
    assert entropy(logits, labels) == pytest.approx(spread, rel=1e-6, abs=1e-9)
    assert error(logits, labels) == (x.argmax(1) != y).double().mean().item()
    assert 0 <= ece(logits, labels) <= 1


def test_answers_that_cannot_be_measured_are_refused() -> None:
    bad = LOGITS.astype(np.float32).copy()
    bad[1, 0] = np.nan
    with pytest.raises(ValueError, match="answered 1 of 3 images with NaN or Inf"):
        measured([bad], [LABELS])
    with pytest.raises(ValueError, match="a label is 2, but the model answers with 2 classes"):
        measured([LOGITS.astype(np.float32)], [LABELS + 2])
