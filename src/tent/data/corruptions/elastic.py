"""Elastic transform: a random affine map, then a random smooth displacement of every pixel."""

import numpy as np

from tent.data.corruptions.arrays import Array, Floats, Images, mirrored, reflected, unit
from tent.data.corruptions.convolution import Border, gaussian
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.severities import Constant


def elastic_transform(images: Images, constant: Constant, draws: Draws) -> Array:
    """Stretch the picture by an affine map and by waves; lengths are shares of its shorter side."""
    height, width = images.shape[1:3]
    strength, sigma, affine = (share * min(height, width) for share in constant)
    x = unit(images, np.float32)
    x = sampled(x, *_affine(draws, height, width, affine), reflected)
    down, right = (_waves(draws, height, width, strength, sigma) for _ in range(2))
    down += np.arange(height, dtype=np.float32)[:, None]
    right += np.arange(width, dtype=np.float32)
    return sampled(x, down, right, mirrored)


def _affine(draws: Draws, height: int, width: int, reach: float) -> tuple[Floats, Floats]:
    """Draw an affine map by moving three points, and say which place each pixel comes from: rows and columns."""
    side = max(min(height, width) // 3, 1)
    row, column = height // 2, width // 2
    fixed = np.array(
        [(row + side, column + side), (row - side, column + side), (row - side, column - side)], np.float64
    )
    ones = np.ones((len(draws.index), 3, 1))
    shifted = np.concatenate([fixed + draws.uniform((3, 2), -reach, reach), ones], axis=2)
    back = np.linalg.solve(shifted, np.broadcast_to(fixed, (len(ones), 3, 2)))  # (n, 3, 2): from new places to old ones
    rows, columns = np.arange(height)[:, None], np.arange(width)
    places = [
        (back[:, 0, axis, None, None] * rows + back[:, 1, axis, None, None] * columns + back[:, 2, axis, None, None])
        for axis in (0, 1)
    ]
    # three points that almost lie on one line send pixels very far away
    down, right = (np.clip(place, -1e6, 1e6) for place in places)
    return down, right


def _waves(draws: Draws, height: int, width: int, strength: float, sigma: float) -> Floats:
    """Draw a smooth displacement for each pixel."""
    noise = draws.uniform((height, width), -1, 1).astype(np.float64)
    return np.asarray(gaussian(noise, sigma, truncate=3, border=mirrored) * strength, np.float32)


def sampled(x: Array, rows: Floats, columns: Floats, border: Border) -> Array:
    """Read images at places between pixels, bilinearly."""
    n, height, width, _ = x.shape
    above, left = np.floor(rows), np.floor(columns)
    down, right = ((rows - above)[..., None], (columns - left)[..., None])
    down, right = down.astype(x.dtype), right.astype(x.dtype)
    tops = [border(above.astype(np.int64) + k, height) * width for k in (0, 1)]
    sides = [border(left.astype(np.int64) + k, width) for k in (0, 1)]
    pixels = x.reshape(n * height * width, -1)
    first = (np.arange(n) * (height * width))[:, None, None]
    lines = []
    for top in tops:
        low, high = (pixels.take(first + top + side, axis=0) for side in sides)
        lines.append(low + right * (high - low))
    return np.asarray(lines[0] + down * (lines[1] - lines[0]))
