"""Metrics of classification against numbers that were added up by hand, and against torch."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from tent.tasks import TASKS, Classification, Task

# probabilities (3/4, 1/4), (1/2, 1/2) and (1/10, 9/10): a right answer, a tie (the first), and a wrong one
LOGITS = torch.tensor([[0.75, 0.25], [0.5, 0.5], [0.1, 0.9]], dtype=torch.float64).log()
LABELS = torch.tensor([0, 0, 0])


def measure(logits: torch.Tensor, labels: torch.Tensor, **options: int) -> dict[str, float]:
    task = Classification(**options)
    task.update(logits, labels)
    return task.compute()


def test_error() -> None:
    assert measure(LOGITS, LABELS)["error"] == pytest.approx(1 / 3)


def test_cross_entropy() -> None:
    by_hand = -(math.log(0.75) + math.log(0.5) + math.log(0.1)) / 3
    assert measure(LOGITS, LABELS)["cross_entropy"] == pytest.approx(by_hand)


def test_entropy() -> None:
    first = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    last = -(0.1 * math.log(0.1) + 0.9 * math.log(0.9))
    assert measure(LOGITS, LABELS)["entropy"] == pytest.approx((first + math.log(2) + last) / 3)


def test_calibration_error() -> None:
    # the bins of 3/4, 1/2 and 9/10 hold one each: |1 - 3/4|, |1 - 1/2| and |0 - 9/10|, a third each
    assert measure(LOGITS, LABELS)["ece"] == pytest.approx((0.25 + 0.5 + 0.9) / 3)


def test_calibration_error_is_taken_bin_by_bin_over_the_whole_stream() -> None:
    # 0.81 and 0.85 share the bin (12/15, 13/15]; one is right, so its accuracy is 1/2 and its confidence 0.83
    logits = torch.tensor([[0.81, 0.19], [0.85, 0.15], [1 - 1e-12, 1e-12]], dtype=torch.float64).log()
    labels = torch.tensor([0, 1, 0])
    expected = (2 * abs(0.5 - 0.83) + 1e-12) / 3
    assert measure(logits, labels)["ece"] == pytest.approx(expected)
    task = Classification()
    for i in range(3):  # a mean of the batches' own errors would be another number
        task.update(logits[i : i + 1], labels[i : i + 1])
    assert task.compute()["ece"] == pytest.approx(expected)


def test_a_stream_is_the_mean_of_its_images_whatever_its_batches() -> None:
    parts = Classification()
    parts.update(LOGITS[:2], LABELS[:2])
    parts.update(LOGITS[2:], LABELS[2:])
    assert parts.compute() == pytest.approx(measure(LOGITS, LABELS), rel=1e-12)
    assert tuple(parts.compute()) == Classification.metrics == ("error", "cross_entropy", "entropy", "ece")


def test_tasks_merge_and_start_afresh() -> None:
    one, other = Classification(2, ignore=7), Classification(2, ignore=7)
    one.update(LOGITS[:2], LABELS[:2])
    other.update(LOGITS[2:], LABELS[2:])
    one.merge(other)
    assert one.compute() == pytest.approx(measure(LOGITS, LABELS))
    assert other.compute()["error"] == 1.0
    fresh = one.fresh()
    assert (fresh.classes, fresh.ignore) == (2, 7)
    assert all(math.isnan(value) for value in fresh.compute().values())
    fresh.update(LOGITS[:1], LABELS[:1])
    assert (fresh.compute()["error"], one.compute()["error"]) == (0.0, pytest.approx(1 / 3))
    fresh.merge(Classification())
    assert fresh.compute()["error"] == 0.0


def test_what_is_counted_does_not_grow_with_the_stream() -> None:
    task = Classification()
    for _ in range(50):
        task.update(torch.randn(8, 1000), torch.zeros(8, dtype=torch.long))
    assert task.sums is not None
    assert task.sums.size < 32
    assert not any(isinstance(value, list | torch.Tensor) for value in vars(task).values())


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(2, 12), st.integers(0, 2**31), st.floats(0.1, 300))
def test_metrics_agree_with_torch_at_every_scale(n: int, classes: int, seed: int, scale: float) -> None:
    generator = np.random.default_rng(seed)
    x = torch.from_numpy(generator.normal(size=(n, classes)) * scale)
    y = torch.from_numpy(generator.integers(0, classes, n))
    metrics = measure(x, y)
    assert metrics["cross_entropy"] == pytest.approx(F.cross_entropy(x, y).item(), rel=1e-9, abs=1e-12)
    spread = torch.distributions.Categorical(logits=x).entropy().mean().item()
    assert metrics["entropy"] == pytest.approx(spread, rel=1e-6, abs=1e-9)
    assert metrics["error"] == pytest.approx((x.argmax(1) != y).double().mean().item(), abs=1e-15)
    assert 0 <= metrics["ece"] <= 1


def test_answers_that_cannot_be_measured_are_refused_and_not_counted() -> None:
    task, bad = Classification(), LOGITS.clone()
    bad[1, 0] = torch.nan
    task.update(LOGITS[:1], LABELS[:1])
    with pytest.raises(ValueError, match="answered 1 of 3 images with NaN or Inf"):
        task.update(bad, LABELS)
    with pytest.raises(ValueError, match="a label is 2, but the model answers with 2 classes"):
        task.update(LOGITS, LABELS + 2)
    with pytest.raises(ValueError, match="a label is -1; labels count from 0"):
        task.update(LOGITS, LABELS - 1)
    with pytest.raises(ValueError, match=r"labels of shape \(2,\) for logits of shape \(3, 2\)"):
        task.update(LOGITS, LABELS[:2])
    with pytest.raises(ValueError, match="the data has 3 classes, but the model answers with 2"):
        Classification(3).update(LOGITS, LABELS)
    assert task.compute()["error"] == 0.0


def test_an_ignored_label_is_not_counted() -> None:
    labels = torch.tensor([0, 9, 0])
    metrics = measure(LOGITS, labels, ignore=9)
    assert metrics["error"] == 0.5
    assert metrics["cross_entropy"] == pytest.approx(-(math.log(0.75) + math.log(0.1)) / 2)


def test_narrow_types_are_measured_in_float64() -> None:
    metrics = measure(LOGITS.to(torch.bfloat16), LABELS)
    assert metrics["cross_entropy"] == pytest.approx(measure(LOGITS, LABELS)["cross_entropy"], abs=0.01)


def test_every_task_says_what_is_better_and_in_what() -> None:
    assert set(TASKS) == {"classification", "segmentation", "text"}
    for make in TASKS.values():
        task = make(classes=3)
        assert isinstance(task, Task)
        assert task.primary in task.metrics
        assert set(task.metrics) <= set(task.compute())
        assert task.unit == "%"
        assert task.label
    assert (Classification.primary, Classification.higher_is_better) == ("error", False)
