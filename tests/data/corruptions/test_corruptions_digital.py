"""Settings of the camera and the file against slow and plain renderings of their definitions."""

import colorsys
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from corruption_images import natural
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tent.data.corruptions import corrupt
from tent.data.corruptions.constants import CIFAR, IMAGENET
from tent.data.corruptions.digital import sample_bilinear
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.filters import mirror
from tent.files import load_python_file

STRENGTH = Path(__file__).parents[3] / "benchmarks" / "corruption_strength.py"
TABLES = {"cifar": CIFAR, "imagenet": IMAGENET}
cases = pytest.mark.parametrize("constants", TABLES)


def colours() -> np.ndarray:
    """Every corner of the cube of colours, the greys, and some between."""
    levels = np.array([0, 1, 60, 128, 200, 254, 255], np.uint8)
    return np.stack(np.meshgrid(levels, levels, levels), -1).reshape(1, 7, 49, 3)


@cases
@pytest.mark.parametrize("severity", range(1, 6))
def test_brightness_and_saturation_are_those_of_hsv(constants, severity):
    x = colours()
    brighter, saturated = np.empty(x.shape), np.empty(x.shape)
    (added,) = TABLES[constants]["brightness"][severity - 1]
    scale, shift = TABLES[constants]["saturate"][severity - 1]
    for at in np.ndindex(x.shape[:3]):
        h, s, v = colorsys.rgb_to_hsv(*(x[at] / 255))
        brighter[at] = colorsys.hsv_to_rgb(h, s, min(v + added, 1))
        saturated[at] = colorsys.hsv_to_rgb(h, min(max(s * scale + shift, 0), 1), v)
    for type, plain in (("brightness", brighter), ("saturate", saturated)):
        y = corrupt(x, type, severity, constants=constants)
        assert np.abs(y - plain * 255).max() < 1 + 1e-9
        assert (y <= plain * 255 + 1e-9).all()


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(1, 5), st.sampled_from(["cifar", "imagenet"]))
def test_pixels_are_those_of_pillow(height, width, severity, constants):
    x = natural(1, height, width)
    share = TABLES[constants]["pixelate"][severity - 1][0]
    small = (max(int(width * share), 1), max(int(height * share), 1))
    plain = Image.fromarray(x[0]).resize(small, Image.Resampling.BOX).resize((width, height), Image.Resampling.BOX)
    y = corrupt(x, "pixelate", severity, constants=constants)[0]
    # ours rounds rows first, as the published images; newer versions of Pillow round tall images' columns first
    assert np.abs(y.astype(int) - np.asarray(plain)).max() <= (0 if height <= width else 1)


def test_jpeg_is_that_of_pillow(images):
    file = io.BytesIO()
    Image.fromarray(images[3]).save(file, "JPEG", quality=40)
    np.testing.assert_array_equal(corrupt(images, "jpeg_compression", 5)[3], np.asarray(Image.open(file)))


def test_jpeg_without_pillow_says_what_to_install(images, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="pip install"):
        corrupt(images, "jpeg_compression", 5)


def test_contrast_keeps_the_means_and_shrinks_the_rest(images):
    y = corrupt(images, "contrast", 5)
    np.testing.assert_allclose(y.mean((1, 2)), images.mean((1, 2)), atol=1)
    np.testing.assert_allclose(y.std((1, 2)), 0.15 * images.std((1, 2)), rtol=0.1)


def test_sampling_at_pixels_and_between_them(images):
    x = images.astype(np.float32)
    rows, columns = np.meshgrid(np.arange(32.0), np.arange(32.0), indexing="ij")
    places = (np.broadcast_to(rows, (8, 32, 32)), np.broadcast_to(columns, (8, 32, 32)))
    np.testing.assert_array_equal(sample_bilinear(x, *places, mirror), x)
    half = sample_bilinear(x, places[0] + 0.5, places[1], mirror)
    np.testing.assert_allclose(half[:, :-1], (x[:, :-1] + x[:, 1:]) / 2)
    np.testing.assert_allclose(half[:, -1], x[:, -1])


def test_elastic_moves_and_does_not_repaint(images):
    for severity in range(1, 6):
        y = corrupt(images, "elastic_transform", severity)
        np.testing.assert_allclose(y.mean((1, 2)), images.mean((1, 2)), atol=25)
    flat = np.full((2, 30, 40, 3), 90, np.uint8)
    assert set(np.unique(corrupt(flat, "elastic_transform", 2))) <= {89, 90}


class OurDraws:
    """The numbers that an image is drawn with here, for the published definition to draw."""

    def __init__(self, severity, place):
        self.draws = Draws(0, "elastic_transform", severity, [place])

    def uniform(self, low, high, shape):
        parts = [shape] if len(shape) == 2 else [shape[1:]] * shape[0]
        drawn = np.concatenate([self.draws.uniform(part, low, high) for part in parts])
        return drawn.reshape(shape).astype(float)


@pytest.mark.parametrize("severity", range(1, 6))
def test_elastic_is_the_published_definition_for_the_same_draws(severity):
    pytest.importorskip("scipy")
    stretch = load_python_file(str(STRENGTH)).stretch
    clean = natural(2, 224, 224)
    seen = corrupt(clean, "elastic_transform", severity, constants="imagenet")
    expected = np.stack([stretch(image, severity, OurDraws(severity, place)) for place, image in enumerate(clean)])
    np.testing.assert_allclose(seen.astype(int), expected, atol=1)
    assert (seen != expected).mean() < 0.01
