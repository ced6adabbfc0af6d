"""Noise has the law that its definition gives it."""

import numpy as np
import pytest

from tent.data.corruptions import corrupt
from tent.data.corruptions.constants import CIFAR

GREY = np.full((20, 32, 32, 3), 128, np.uint8)


@pytest.mark.parametrize("severity", range(1, 6))
def test_spread_of_noise_on_grey(severity):
    level = 128 / 255
    (sigma,), (photons,), (speckle,) = (
        CIFAR[type][severity - 1] for type in ("gaussian_noise", "shot_noise", "speckle_noise")
    )
    for type, deviation in (
        ("gaussian_noise", sigma),
        ("shot_noise", np.sqrt(level / photons)),
        ("speckle_noise", level * speckle),
    ):
        y = corrupt(GREY, type, severity).astype(float)
        assert y.mean() == pytest.approx(127.5, abs=0.5)  # cut, not rounded
        assert y.std() == pytest.approx(255 * deviation, rel=0.02)
        assert abs(np.corrcoef(y[..., 0].ravel(), y[..., 1].ravel())[0, 1]) < 0.03


@pytest.mark.parametrize("severity", range(1, 6))
def test_impulses_are_black_and_white_in_equal_shares(severity):
    (share,) = CIFAR["impulse_noise"][severity - 1]
    y = corrupt(GREY, "impulse_noise", severity)
    assert set(np.unique(y)) == {0, 128, 255}
    assert (y == 0).mean() == pytest.approx(share / 2, rel=0.15)
    assert (y == 255).mean() == pytest.approx(share / 2, rel=0.15)


def test_black_stays_black_where_noise_is_in_proportion():
    black = np.zeros((2, 8, 8, 3), np.uint8)
    for type in ("shot_noise", "speckle_noise"):
        assert not corrupt(black, type, 5).any()
