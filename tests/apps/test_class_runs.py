"""Runs of classes are told from a shuffled stream by predictions alone."""

import numpy as np
import pytest

from tent.apps.class_runs import LAGS, ClassRuns


def watch(classes: np.ndarray, batch: int = 16) -> ClassRuns:
    runs = ClassRuns()
    for start in range(0, len(classes), batch):
        runs.add(classes[start : start + batch])
    return runs


def predictions(labels: np.ndarray, right: float, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.where(random.random(len(labels)) < right, labels, random.integers(0, 10, len(labels)))


SORTED = np.repeat(np.arange(10), 60)


@pytest.mark.parametrize("right", [1.0, 0.6, 0.4])
def test_a_sorted_stream_is_found_also_by_a_poor_model(right: float) -> None:
    runs = watch(predictions(SORTED, right))
    assert runs.found
    assert "--order shuffled" in runs.warning
    assert "\n" not in runs.warning


@pytest.mark.parametrize("seed", range(20))
def test_a_shuffled_stream_is_not(seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(SORTED)
    for end in range(64, 600, 64):  # at no time
        assert not watch(shuffled[:end]).found
    rare = np.random.default_rng(seed).choice(10, 600, p=[0.91] + [0.01] * 9)
    assert not watch(rare).found


def test_one_class_alone_and_a_short_stream_say_nothing() -> None:
    assert not watch(np.zeros(500, dtype=np.int64)).found
    assert not watch(np.repeat(np.arange(5), 7)).found
    assert not ClassRuns().found


def test_batches_make_no_difference() -> None:
    classes = predictions(SORTED, 0.5)
    one, many = watch(classes, 600), watch(classes, 7)
    assert (one.pairs, one.alike, one.expected) == (many.pairs, many.alike, many.expected)
    assert one.pairs == sum(600 - lag for lag in range(1, LAGS + 1))
    assert one.alike == sum(int((classes[lag:] == classes[:-lag]).sum()) for lag in range(1, LAGS + 1))


def test_a_poor_model_that_favours_one_class_still_tells() -> None:
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 200)
    said = np.where(random.random(2000) < 0.32, labels, random.choice([6, 1, 2, 3], 2000, p=[0.7, 0.1, 0.1, 0.1]))
    assert watch(said).found
    assert not watch(random.permutation(said)).found
