"""Linear filters over the two image axes of a batch, tap by tap, so that a pixel's sum never depends on its batch."""

import math
from collections.abc import Callable

import numpy as np

from tent.data.corruptions.arrays import Array, Floats, clamped, reflected

Border = Callable[[Array, int], Array]

# above this many taps the Fourier transform is the faster way
_TAPS = 64


def gaussian_taps(sigma: float, truncate: float) -> Floats:
    """Weigh the offsets up to `truncate` standard deviations by the normal density; they sum to one."""
    radius = int(truncate * sigma + 0.5)
    at = np.arange(-radius, radius + 1)
    taps = np.exp(-0.5 / max(sigma, 1e-9) ** 2 * at**2)
    return np.asarray(taps / taps.sum())


def padded(x: Array, rows: int, columns: int, border: Border) -> Array:
    """Widen axes 1 and 2 on both sides by the pixels that the border rule names."""
    height, width = x.shape[1:3]
    x = x.take(border(np.arange(-rows, height + rows), height), axis=1) if rows else x
    return x.take(border(np.arange(-columns, width + columns), width), axis=2) if columns else x


def _line(x: Floats, taps: Floats, axis: int) -> Floats:
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


def gaussian(x: Floats, sigma: float, truncate: float = 4, border: Border = clamped) -> Floats:
    """Smooth by a normal density; border pixels repeat, if no other rule is given."""
    taps = gaussian_taps(sigma, truncate).astype(x.dtype)
    radius = len(taps) // 2
    x = _line(padded(x, radius, 0, border), taps, 1)
    return _line(padded(x, 0, radius, border), taps, 2)


def correlated(x: Floats, kernel: Floats) -> Floats:
    """Filter by a kernel of odd sides; borders reflect about the border pixel."""
    rows, columns = (side // 2 for side in kernel.shape)
    height, width = x.shape[1:3]
    wide = padded(x, rows, columns, reflected)
    if np.count_nonzero(kernel) > _TAPS:
        return _transformed(wide, kernel)[:, :height, :width]
    out = np.zeros_like(x)
    term = np.empty_like(x)
    for row, column in np.argwhere(kernel):
        np.multiply(wide[:, row : row + height, column : column + width], kernel[row, column], out=term)
        out += term
    return out


def _transformed(wide: Floats, kernel: Floats) -> Floats:
    """Filter by multiplying spectra: a circular correlation, whole where the padding is left behind."""
    height, width = (_smooth(side) for side in wide.shape[1:3])
    spectrum = np.fft.rfft2(wide, (height, width), axes=(1, 2))
    spectrum *= np.conj(np.fft.rfft2(kernel, (height, width)))[:, :, None]
    return np.asarray(np.fft.irfft2(spectrum, (height, width), axes=(1, 2)))


def _smooth(size: int) -> int:
    """Find the next size that has only the factors 2, 3 and 5, which transforms fast."""
    while math.gcd(size, 30**20) != size:
        size += 1
    return size
