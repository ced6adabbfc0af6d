"""What a batch of images is to the corruptions, and how coordinates beyond its borders come back into it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Images = NDArray[np.uint8]  # (n, height, width, 3)
Floats = NDArray[np.floating[Any]]


def clamped(at: Array, size: int) -> Array:
    """Repeat the border pixel: a a | a b c | c c."""
    return np.asarray(np.clip(at, 0, size - 1))


def mirrored(at: Array, size: int) -> Array:
    """Mirror about the border pixel's outer edge: b a | a b c | c b."""
    at = np.mod(at, 2 * size)
    return np.asarray(np.minimum(at, 2 * size - 1 - at))


def reflected(at: Array, size: int) -> Array:
    """Mirror about the border pixel's centre: c b | a b c | b a."""
    period = max(2 * (size - 1), 1)
    at = np.mod(at, period)
    return np.asarray(np.minimum(at, np.mod(period - at, period)))


def unit(images: Array, dtype: type = np.float64) -> Array:
    """Scale 8-bit values to 0...1."""
    return np.divide(images, 255, dtype=dtype)


def truncated(x: Array) -> Images:
    """Bring values in 0...1 back to 8 bits, cutting the fraction off as the published generator does."""
    if x.dtype == np.uint8:
        return x
    scaled = np.clip(x, 0, 1)
    scaled *= 255
    return np.asarray(scaled, np.uint8)
