"""The draws of an image: its own, of the right law, and the same from whatever side they are asked for."""

import numpy as np
import pytest

from tent.data.corruptions.draws import Draws


def all_kinds(draws):
    return [
        draws.uniform((3,)),  # an odd number of 32-bit draws leaves half a word over
        draws.normal((5,)),
        draws.integers((7,), -2, 2),
        draws.poisson(np.full((len(draws.index), 5), 9.0)),
        draws.antithetic((3,)),
        draws.low_discrepancy(),
        draws.uniform((4,)),
    ]


@pytest.mark.parametrize("rows", [[0], [5], [3, 1], [5, 4, 3, 2, 1, 0]])
def test_an_image_keeps_its_draws_in_any_company(rows):
    whole = all_kinds(Draws(3, "snow", 2, range(10, 16)))
    part = all_kinds(Draws(3, "snow", 2, [10 + row for row in rows]))
    for some, all_rows in zip(part, whole, strict=True):
        np.testing.assert_array_equal(some, all_rows[rows])


@pytest.mark.parametrize("other", [(4, "snow", 2, 10), (3, "fog", 2, 10), (3, "snow", 1, 10), (3, "snow", 2, 11)])
def test_seed_type_severity_and_index_each_lead_elsewhere(other):
    seed, type, severity, index = other
    first = Draws(3, "snow", 2, [10]).uniform((1000,))
    assert abs(np.corrcoef(first[0], Draws(seed, type, severity, [index]).uniform((1000,))[0])[0, 1]) < 0.15


def test_two_draws_of_an_image_have_nothing_in_common():
    draws = Draws(0, "fog", 1, range(4))
    assert not np.isin(draws.uniform((100,)), draws.uniform((100,))).all()
    first, second = draws.normal((4000,)), draws.normal((4000,))
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.05


def test_laws():
    draws = Draws(0, "law", 1, range(50))
    normal = draws.normal((2000,), 3, 2)
    assert (normal.mean(), normal.std()) == pytest.approx((3, 2), abs=0.05)
    even = draws.uniform((2000,), -1, 3)
    assert (even.min(), even.max(), even.mean()) == pytest.approx((-1, 3, 1), abs=0.05)
    whole = draws.integers((2000,), -2, 2)
    assert np.bincount(whole.ravel() + 2) / whole.size == pytest.approx([0.25] * 4, abs=0.02)
    counts = draws.poisson(np.full((50, 2000), 6.0))
    assert (counts.mean(), counts.var()) == pytest.approx((6, 6), abs=0.2)


def test_opposed_pairs_cancel_and_keep_the_law():
    draws = Draws(1, "fog", 5, range(6, 106)).antithetic((500,))
    np.testing.assert_array_equal(draws[::2], -draws[1::2])
    assert (draws.min(), draws.max(), draws.var()) == pytest.approx((-1, 1, 1 / 3), abs=0.02)


@pytest.mark.parametrize("start", [0, 17, 2**63])
def test_spread_covers_evenly_wherever_it_starts(start):
    places = np.sort(Draws(2, "frost", 1, range(start, start + 64)).low_discrepancy())
    assert places[0] >= 0
    assert places[-1] < 1
    assert np.abs(places - (np.arange(64) + 0.5) / 64).max() < 0.05
