"""Rank correlation, and samples of bounded size."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from tent.analysis.ranks import Reservoir, rank_correlation


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("levels", [None, 3, 40])
def test_a_rank_correlation_is_that_of_scipy_also_with_ties(seed: int, levels: int | None) -> None:
    generator = np.random.default_rng(seed)
    one = generator.normal(size=500)
    other = one + generator.normal(size=500)
    if levels:
        one, other = np.round(one * levels / 4), np.round(other * levels / 4)
    found = rank_correlation(one, other)
    assert found == pytest.approx(spearmanr(one, other).statistic, abs=1e-12)


def test_a_rank_correlation_of_a_constant_or_of_nothing_is_not_defined() -> None:
    assert rank_correlation(np.ones(4), np.arange(4.0)) is None
    assert rank_correlation(np.zeros(0), np.zeros(0)) is None


def test_a_rank_correlation_is_of_pairs() -> None:
    with pytest.raises(ValueError, match="3 values beside 4"):
        rank_correlation(np.arange(3.0), np.arange(4.0))


def test_a_reservoir_keeps_every_row_up_to_its_size_in_their_order() -> None:
    values = np.arange(100.0)
    kept = Reservoir(2, most=100)
    for part in np.split(values, 10):
        kept.add(part, -part)
    assert kept.whole
    assert np.array_equal(kept.rows, np.stack([values, -values], 1))


def test_a_reservoir_beyond_its_size_is_an_even_sample_and_does_not_grow() -> None:
    kept, most = Reservoir(1, most=1000), 0
    for part in np.split(np.arange(50_000.0), 500):
        kept.add(part)
        most = max(most, sum(rows.nbytes for rows in kept._rows))
    rows = kept.rows[:, 0]
    assert len(rows) == 1000
    assert not kept.whole
    assert kept.seen == 50_000
    assert most <= 8 * 1350
    assert len(set(rows.tolist())) == 1000
    assert abs(rows.mean() / 25_000 - 1) < 0.08  # 4 deviations of the mean of so many
