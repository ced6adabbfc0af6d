"""Batches of images as arrays: types, scale and borders, and linear filters whose sums do not depend on the batch."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Images = NDArray[np.uint8]  # (n, height, width, 3)
Floats = NDArray[np.floating[Any]]
Border = Callable[[Array, int], Array]

# above this many taps the Fourier transform is the faster way
_TAPS = 64


def clamp(at: Array, size: int) -> Array:
    """Repeat the border pixel: a a | a b c | c c."""
    return np.asarray(np.clip(at, 0, size - 1))


def mirror(at: Array, size: int) -> Array:
    """Mirror about the border pixel's outer edge: b a | a b c | c b."""
    at = np.mod(at, 2 * size)
    return np.asarray(np.minimum(at, 2 * size - 1 - at))


def reflect(at: Array, size: int) -> Array:
    """Mirror about the border pixel's centre: c b | a b c | b a."""
    period = max(2 * (size - 1), 1)
    at = np.mod(at, period)
    return np.asarray(np.minimum(at, np.mod(period - at, period)))


def to_unit(images: Array, dtype: type = np.float64) -> Array:
    """Scale 8-bit values to 0...1."""
    return np.divide(images, 255, dtype=dtype)


def to_bytes(x: Array) -> Images:
    """Bring values in 0...1 back to 8 bits, cutting the fraction off as the published generator does."""
    if x.dtype == np.uint8:
        return x
    scaled = np.clip(x, 0, 1)
    scaled *= 255
    return np.asarray(scaled, np.uint8)


def gaussian_taps(sigma: float, truncate: float) -> Floats:
    """Weigh the offsets up to `truncate` standard deviations by the normal density; they sum to one."""
    radius = int(truncate * sigma + 0.5)
    at = np.arange(-radius, radius + 1)
    taps = np.exp(-0.5 / max(sigma, 1e-9) ** 2 * at**2)
    return np.asarray(taps / taps.sum())


def pad(x: Array, rows: int, columns: int, border: Border) -> Array:
    """Widen axes 1 and 2 on both sides by the pixels that the border rule names."""
    height, width = x.shape[1:3]
    x = x.take(border(np.arange(-rows, height + rows), height), axis=1) if rows else x
    return x.take(border(np.arange(-columns, width + columns), width), axis=2) if columns else x


def _filter_line(x: Floats, taps: Floats, axis: int) -> Floats:
    """Filter a padded batch along one axis by symmetric taps."""
    radius = len(taps) // 2
    size = x.shape[axis] - 2 * radius
    sides = [x[:, at : at + size] if axis == 1 else x[:, :, at : at + size] for at in range(len(taps))]
    out = sides[radius] * taps[radius]
    pair = np.empty_like(out)
    for k in range(radius):
        np.add(sides[k], sides[-1 - k], out=pair)
        pair *= taps[k]
        out += pair
    return np.asarray(out)


def _filter_mirrored(x: Floats, taps: Floats, axis: int) -> Floats:
    """Filter a batch along one axis by many symmetric taps; mirrored lines repeat, so a circular filter is exact."""
    size, radius = x.shape[axis], len(taps) // 2
    circle = np.bincount(np.arange(-radius, radius + 1) % (2 * size), weights=taps, minlength=2 * size)
    spectrum = np.fft.rfft(x.take(mirror(np.arange(2 * size), size), axis=axis), axis=axis)
    spectrum *= np.fft.rfft(circle).real.reshape(-1, *[1] * (x.ndim - 1 - axis))  # symmetric taps turn no phase
    return np.fft.irfft(spectrum, axis=axis).take(np.arange(size), axis=axis)


def gaussian(x: Floats, sigma: float, truncate: float = 4, border: Border = clamp) -> Floats:
    """Smooth by a normal density; border pixels repeat, if no other rule is given."""
    taps = gaussian_taps(sigma, truncate).astype(x.dtype)
    if len(taps) > _TAPS and border is mirror:
        return _filter_mirrored(_filter_mirrored(x, taps, 1), taps, 2)
    radius = len(taps) // 2
    x = _filter_line(pad(x, radius, 0, border), taps, 1)
    return _filter_line(pad(x, 0, radius, border), taps, 2)


def correlate(x: Floats, kernel: Floats) -> Floats:
    """Filter by a kernel of odd sides; borders reflect about the border pixel."""
    rows, columns = (side // 2 for side in kernel.shape)
    height, width = x.shape[1:3]
    wide = pad(x, rows, columns, reflect)
    if np.count_nonzero(kernel) > _TAPS:
        return _correlate_by_fourier(wide, kernel)[:, :height, :width]
    out = np.zeros_like(x)
    term = np.empty_like(x)
    for row, column in np.argwhere(kernel):
        np.multiply(wide[:, row : row + height, column : column + width], kernel[row, column], out=term)
        out += term
    return out


def _correlate_by_fourier(wide: Floats, kernel: Floats) -> Floats:
    """Filter by multiplying spectra: a circular correlation, whole where the padding is left behind."""
    height, width = (_fast_size(side) for side in wide.shape[1:3])
    spectrum = np.fft.rfft2(wide, (height, width), axes=(1, 2))
    spectrum *= np.conj(np.fft.rfft2(kernel, (height, width)))[:, :, None]
    return np.asarray(np.fft.irfft2(spectrum, (height, width), axes=(1, 2)))


def _fast_size(size: int) -> int:
    """Find the next size that has only the factors 2, 3 and 5, which transforms fast."""
    while math.gcd(size, 30**20) != size:
        size += 1
    return size
