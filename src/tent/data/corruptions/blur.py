"""Blurs that are one filter for every image: gaussian, defocus, glass and zoom."""

import numpy as np

from tent.data.corruptions.arrays import Array, Floats, Images, truncated, unit
from tent.data.corruptions.convolution import correlated, gaussian
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.severities import Constant
from tent.data.corruptions.zoom import Zoom


def gaussian_blur(images: Images, constant: Constant, draws: Draws) -> Array:
    """Smooth by a normal density."""
    return gaussian(unit(images), constant[0])


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
    kernel = correlated(kernel[None] / kernel.sum(), np.outer(taps, taps))[0]
    inside = min(reach, int(radius) + soft)
    return kernel[reach - inside : reach + inside + 1, reach - inside : reach + inside + 1]


def defocus_blur(images: Images, constant: Constant, draws: Draws) -> Array:
    """Spread each pixel over a disk, as a lens out of focus does."""
    return correlated(unit(images), disk(*constant))


def zoom_blur(images: Images, constant: Constant, draws: Draws) -> Array:
    """Take the mean of the image and its enlargements about the centre, as a lens that zooms does."""
    last, step = constant
    # pixels first, images last: rows and columns are then copied in long runs
    x = np.ascontiguousarray(unit(images, np.float32).transpose(1, 2, 3, 0))
    zooms = np.arange(1, last + step / 2, step)
    total = np.zeros_like(x)
    for zoom in zooms:
        total += Zoom(zoom).of(x)
    total += x
    total /= np.float32(len(zooms) + 1)
    return total.transpose(3, 0, 1, 2)


def glass_blur(images: Images, constant: Constant, draws: Draws) -> Array:
    """Blur, let near pixels take each other's place, and blur again."""
    sigma, reach, passes = constant[0], int(constant[1]), int(constant[2])
    n, height, width, _ = images.shape
    pixels = truncated(gaussian(unit(images), sigma)).reshape(-1, 3)
    first = (np.arange(n) * (height * width))[:, None]
    for _ in range(passes):
        pixels = pixels.take((shuffle(draws, height, width, reach) + first).ravel(), axis=0)
    return gaussian(unit(pixels.reshape(images.shape)), sigma)


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
