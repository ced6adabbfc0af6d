"""Blurs: gaussian, defocus, glass, zoom and motion."""

import numpy as np

from tent.data.corruptions.constants import Constant
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.filters import Array, Floats, Images, clamp, correlate, gaussian, pad, to_bytes, to_unit

# sums are rounded to 16 bits before the lower half of them is cut off: half of one part in 257
_ROUNDING = np.float32(0.5 / 257)


def gaussian_blur(images: Images, constant: Constant, draws: Draws) -> Array:
    """Smooth by a normal density."""
    return gaussian(to_unit(images), constant[0])


def disk(radius: float, sigma: float) -> Floats:
    """Draw the lens's disk, its edge softened by a small gaussian.

    A disk that fills its grid (radius 8 and more) is mirrored at the grid's edge and gains about 1% of light: so it is
    in the published images.
    """
    reach = 8 if radius <= 8 else int(np.ceil(radius))
    at = np.arange(-reach, reach + 1)
    kernel: Floats = (at[:, None] ** 2 + at**2 <= radius**2).astype(np.float64)
    soft = 1 if radius <= 8 else 2
    taps = np.exp(-0.5 / sigma**2 * np.arange(-soft, soft + 1) ** 2)
    taps /= taps.sum()
    kernel = correlate(kernel[None] / kernel.sum(), np.outer(taps, taps))[0]
    inside = min(reach, int(radius) + soft)
    return kernel[reach - inside : reach + inside + 1, reach - inside : reach + inside + 1]


def defocus_blur(images: Images, constant: Constant, draws: Draws) -> Array:
    """Spread each pixel over a disk, as a lens out of focus does."""
    return correlate(to_unit(images), disk(*constant))


def zoom_blur(images: Images, constant: Constant, draws: Draws) -> Array:
    """Take the mean of the image and its enlargements about the centre, as a lens that zooms does."""
    last, step = constant
    # pixels first, images last: rows and columns are then copied in long runs
    x = np.ascontiguousarray(to_unit(images, np.float32).transpose(1, 2, 3, 0))
    zooms = np.arange(1, last + step / 2, step)
    total = np.zeros_like(x)
    for zoom in zooms:
        total += enlarge(x, zoom)
    total += x
    total /= np.float32(len(zooms) + 1)
    return total.transpose(3, 0, 1, 2)


def glass_blur(images: Images, constant: Constant, draws: Draws) -> Array:
    """Blur, let near pixels take each other's place, and blur again."""
    sigma, reach, passes = constant[0], int(constant[1]), int(constant[2])
    n, height, width, _ = images.shape
    pixels = to_bytes(gaussian(to_unit(images), sigma)).reshape(-1, 3)
    first = (np.arange(n) * (height * width))[:, None]
    for _ in range(passes):
        pixels = pixels.take((shuffle(draws, height, width, reach) + first).ravel(), axis=0)
    return gaussian(to_unit(pixels.reshape(images.shape)), sigma)


def shuffle(draws: Draws, height: int, width: int, reach: int) -> Array:
    """Draw where the value of each pixel comes from after one pass over the image, (n, height * width).

    The pass goes from the bottom right to the top left, and each pixel takes the value that a near pixel has at that
    moment: its own, or, if the pass was there before, the one that it took. All such chains are followed at once, twice
    as far each time, instead of one pixel after the other.
    """
    rows, columns = np.arange(height)[:, None], np.arange(width)
    moving = (rows > reach) & (rows <= height - reach) & (columns > reach) & (columns <= width - reach)
    home = (rows * width + columns).ravel()
    step = draws.integers((2, height * width), -reach, reach)
    source: Array = home + moving.ravel() * (step[:, 0] * width + step[:, 1])
    # with a reach of 1 every step is up or to the left, where the pass has not been
    chained = (source > home) & moving.ravel()[source] if reach > 1 else np.zeros(1, bool)
    while chained.any():
        onward = np.where(chained, np.take_along_axis(source, source, axis=1), source)
        source, chained = onward, chained & np.take_along_axis(chained, source, axis=1)
    return source


def motion_blur(images: Images, constant: Constant, draws: Draws) -> Images:
    """Move the camera along an angle between -45 and 45 degrees."""
    angles = 90 * draws.low_discrepancy() - 45
    return smear(images, angles, *constant)


def smear(images: Array, angles: Floats, radius: float, sigma: float) -> Images:
    """Smear 8-bit images, one angle in degrees each, over 2 * radius + 1 steps; border pixels repeat."""
    weights = step_weights(radius, sigma)
    reach = len(weights)
    turn = np.deg2rad(angles.astype(np.float64))[:, None]
    rows = reach + np.ceil(np.arange(reach) * np.sin(turn) - 0.5).astype(int)
    columns = reach + np.ceil(np.arange(reach) * np.cos(turn) - 0.5).astype(int)
    height, width = images.shape[1:3]
    wide = pad(images, reach, reach, clamp).astype(np.float32)
    out = np.full(images.shape, _ROUNDING, np.float32)
    term = np.empty(images.shape[1:], np.float32)
    for image, total, down, right in zip(wide, out, rows, columns, strict=True):
        for weight, row, column in zip(weights, down, right, strict=True):
            np.multiply(image[row : row + height, column : column + width], weight, out=term)
            total += term
    return np.minimum(out, 255).astype(np.uint8)


def step_weights(radius: float, sigma: float) -> Floats:
    """Weigh the steps by a normal density; those too far out to be seen are left away."""
    weights = np.exp(-0.5 * (np.arange(2 * int(radius) + 1) / sigma) ** 2)
    weights = weights[weights > 1e-5 * weights.sum()]
    return np.asarray(weights / weights.sum(), np.float32)


def enlarge(x: Floats, factor: float) -> Floats:
    """Enlarge axes 0 and 1 about their centre by a factor, bilinearly, cut to the size they had."""
    if factor == 1:
        return x
    below, above, share = _neighbours(x.shape[0], factor)
    x = _interpolate(x[below], x[above], share.reshape(-1, *[1] * (x.ndim - 1)).astype(x.dtype))
    below, above, share = _neighbours(x.shape[1], factor)
    return _interpolate(x[:, below], x[:, above], share.reshape(-1, *[1] * (x.ndim - 2)).astype(x.dtype))


def _neighbours(size: int, factor: float) -> tuple[Array, Array, Floats]:
    """Say which two pixels of a line each new pixel lies between, and how near the second."""
    kept = int(np.ceil(size / factor))
    grown = round(kept * factor)
    at = np.arange(size) + (grown - size) // 2
    place = np.minimum(at * ((kept - 1) / max(grown - 1, 1)), kept - 1)
    below = place.astype(np.int64)
    first = (size - kept) // 2
    return first + below, first + np.minimum(below + 1, kept - 1), place - below


def _interpolate(low: Floats, high: Floats, share: Floats) -> Floats:
    """Go from low to high by the share; writes over `high`."""
    high -= low
    high *= share
    high += low
    return high
