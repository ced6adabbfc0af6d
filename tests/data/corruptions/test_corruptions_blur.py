"""The blurs against slow and plain renderings of their definitions."""

import numpy as np
import pytest
from corruption_images import natural
from hypothesis import given, settings
from hypothesis import strategies as st

from tent.data.corruptions import corrupt
from tent.data.corruptions.blur import disk, enlarge, shuffle, smear
from tent.data.corruptions.constants import CIFAR, IMAGENET
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.filters import clamp, correlate, gaussian, mirror, reflect


@given(st.integers(1, 9), st.integers(0, 30))
def test_borders_are_those_of_numpy(size, reach):
    line, at = np.arange(size), np.arange(-reach, size + reach)
    np.testing.assert_array_equal(line[clamp(at, size)], np.pad(line, reach, "edge"))
    np.testing.assert_array_equal(line[mirror(at, size)], np.pad(line, reach, "symmetric"))
    np.testing.assert_array_equal(line[reflect(at, size)], np.pad(line, reach, "reflect"))


@settings(deadline=None, max_examples=20)
@given(st.sampled_from([(20, 20), (9, 30), (12, 7)]), st.integers(1, 4), st.integers(1, 3), st.integers(0, 99))
def test_a_pass_of_glass_is_the_loop_over_pixels(size, reach, count, seed):
    height, width = size
    draws = Draws(seed, "glass_blur", 1, range(count))
    step = Draws(seed, "glass_blur", 1, range(count)).integers((2, height * width), -reach, reach)
    source = shuffle(draws, height, width, reach)
    for row in range(count):
        x = np.arange(height * width)
        for h in range(height - reach, reach, -1):
            for w in range(width - reach, reach, -1):
                at = h * width + w
                x[at] = x[at + step[row, 0, at] * width + step[row, 1, at]]
        np.testing.assert_array_equal(source[row], x)


def test_gaussian_is_the_sum_over_all_offsets():
    x = natural(2, 9, 14).astype(float)
    sigma, radius = 1.3, 5
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    weights /= weights.sum()
    wide = np.pad(x, ((0, 0), (radius, radius), (radius, radius), (0, 0)), "edge")
    windows = np.lib.stride_tricks.sliding_window_view(wide, (11, 11), axis=(1, 2))
    np.testing.assert_allclose(gaussian(x, sigma), np.einsum("nhwcij,i,j->nhwc", windows, weights, weights))


@pytest.mark.parametrize("side", [3, 9, 21])
def test_a_filter_is_the_same_by_taps_and_by_spectrum(side):
    x = natural(2, 13, 30).astype(float)
    kernel = np.random.default_rng(0).random((side, side))
    wide = np.pad(x, ((0, 0), (side // 2, side // 2), (side // 2, side // 2), (0, 0)), "reflect")
    windows = np.lib.stride_tricks.sliding_window_view(wide, (side, side), axis=(1, 2))
    np.testing.assert_allclose(correlate(x, kernel), np.einsum("nhwcij,ij->nhwc", windows, kernel), rtol=1e-9)


@pytest.mark.parametrize("constant", [*CIFAR["defocus_blur"], *IMAGENET["defocus_blur"]])
def test_the_disk_is_round_and_loses_no_light(constant):
    kernel = disk(*constant)
    # the published disk fills its grid from radius 8 on, and its smoothing mirrors it at the grid's edge
    assert kernel.sum() == pytest.approx(1 if constant[0] < 8 else 1.012, abs=0.002)
    np.testing.assert_allclose(kernel, kernel.T)
    np.testing.assert_allclose(kernel, kernel[::-1])
    assert kernel.max() == pytest.approx(kernel[len(kernel) // 2, len(kernel) // 2])


def test_a_zoom_of_two_shows_the_middle_half():
    x = np.arange(32.0)[:, None] * np.ones(32)
    zoomed = enlarge(x, 2)
    assert (zoomed[0, 0], zoomed[-1, -1]) == (8, 23)
    np.testing.assert_allclose(np.diff(zoomed[:, 5]), 15 / 31)
    np.testing.assert_array_equal(enlarge(x, 1), x)


def test_motion_goes_along_its_angle():
    dot = np.zeros((4, 41, 41), np.uint8)
    dot[:, 20, 20] = 255
    seen = smear(dot, np.array([0.0, 45, 90, -45]), 10, 3) > 0
    ways = [np.argwhere(one) - 20 for one in seen]
    assert (ways[0][:, 0] == 0).all()
    assert (ways[0][:, 1] <= 0).all()
    np.testing.assert_array_equal(ways[1][:, 0], ways[1][:, 1])
    assert (ways[2][:, 1] == 0).all()
    np.testing.assert_array_equal(ways[3][:, 0], -ways[3][:, 1])
    assert all(len(way) > 4 for way in ways)


@settings(deadline=None, max_examples=20)
@given(st.floats(-135, 45), st.integers(0, 99))
def test_motion_grows_with_severity_along_one_angle(angle, seed):
    x = natural(2, 64, 64, seed)
    for table in (CIFAR, IMAGENET):
        blurred = [smear(x, np.full(2, angle), *constant) for constant in table["motion_blur"]]
        strengths = [((one.astype(float) - x) ** 2).mean() for one in blurred]
        assert strengths == sorted(strengths)


@pytest.mark.parametrize("type", ["motion_blur", "zoom_blur", "gaussian_blur", "defocus_blur", "glass_blur"])
@pytest.mark.parametrize("constants", ["cifar", "imagenet"])
def test_a_blur_leaves_a_flat_picture_flat(type, constants):
    for severity in range(1, 6):
        y = corrupt(np.full((1, 40, 50, 3), 200, np.uint8), type, severity, constants=constants)
        assert y.min() >= 199  # cut, not rounded: 199.999 is 199
        full_grid = type == "defocus_blur" and constants == "imagenet" and severity >= 4
        assert y.max() <= (203 if full_grid else 200)


@pytest.mark.parametrize("size", [(20, 31), (7, 90)])
def test_wide_smoothing_is_the_sum_over_its_taps(size):
    x, sigma = np.random.default_rng(0).normal(size=(2, *size)), 25
    at = np.arange(-75, 76)
    taps = np.exp(-0.5 * (at / sigma) ** 2)
    taps /= taps.sum()
    lines = sum(tap * x[:, mirror(np.arange(size[0]) + k, size[0])] for k, tap in zip(at, taps, strict=True))
    plain = sum(tap * lines[:, :, mirror(np.arange(size[1]) + k, size[1])] for k, tap in zip(at, taps, strict=True))
    np.testing.assert_allclose(gaussian(x, sigma, truncate=3, border=mirror), plain, atol=1e-12)
