"""Edges of 8-bit layers and the distance to them, as OpenCV's Canny and distance transform define them."""

import numpy as np

from tent.data.corruptions.arrays import Array, Floats, clamped
from tent.data.corruptions.convolution import padded

_LOW, _HIGH = 50, 150
# tan(22.5 degrees) in 15 bits
_TANGENT = 13573
# steps of the distance and their lengths: straight, diagonal, and the chess knight's
_STEPS = {(0, 1): 1.0, (1, 1): 1.4, (1, 2): 2.1969}


def edges(layer: Array) -> Array:
    """Find the edges of layers, (n, height, width) of 8 bits, as booleans."""
    down, right = _slopes(layer)
    size = abs(down) + abs(right)
    peaks = _peaks(size, down, right) & (size > _LOW)
    found = peaks & (size > _HIGH)
    while True:  # a weak edge counts where it touches one that counts
        grown = peaks & _any_near(found)
        if (grown == found).all():
            return found
        found = grown


def _slopes(layer: Array) -> tuple[Array, Array]:
    """Take the differences downwards and to the right over 3 x 3 pixels."""
    wide = padded(layer.astype(np.int32), 1, 1, clamped)
    rows = wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]
    columns = wide[:, :, :-2] + 2 * wide[:, :, 1:-1] + wide[:, :, 2:]
    return columns[:, 2:] - columns[:, :-2], rows[:, :, 2:] - rows[:, :, :-2]


def _peaks(size: Array, down: Array, right: Array) -> Array:
    """Keep what is largest across the edge's direction."""
    height, width = size.shape[1:]
    wide = np.pad(size, ((0, 0), (1, 1), (1, 1)))

    def near(row: int, column: int) -> Array:
        return wide[:, 1 + row : 1 + row + height, 1 + column : 1 + column + width]

    flat = abs(right).astype(np.int64) * _TANGENT
    slope = abs(down).astype(np.int64) << 15
    steep = flat + (abs(right).astype(np.int64) << 16)
    beside = (size > near(0, -1)) & (size >= near(0, 1))
    over = (size > near(-1, 0)) & (size >= near(1, 0))
    falling = (size > near(-1, -1)) & (size > near(1, 1))
    rising = (size > near(-1, 1)) & (size > near(1, -1))
    diagonal = np.where((down ^ right) < 0, rising, falling)
    return np.where(slope < flat, beside, np.where(slope > steep, over, diagonal))


def _any_near(found: Array) -> Array:
    """Grow by one pixel in all eight directions."""
    wide = np.pad(found, ((0, 0), (1, 1), (1, 1)))
    rows = wide[:, :-2] | wide[:, 1:-1] | wide[:, 2:]
    return np.asarray(rows[:, :, :-2] | rows[:, :, 1:-1] | rows[:, :, 2:])


def distance(found: Array, limit: float) -> Floats:
    """Measure how far each pixel is from an edge, by the shortest chain of steps, up to a limit."""
    height, width = found.shape[1:]
    wide = np.full((len(found), height + 4, width + 4), limit, np.float32)
    inside = wide[:, 2:-2, 2:-2]
    inside[found] = 0
    steps = {
        (s * a, t * b): length
        for (i, j), length in _STEPS.items()
        for a, b in ((i, j), (j, i))
        for s in (-1, 1)
        for t in (-1, 1)
    }
    while True:
        before = inside.copy()
        for (row, column), length in steps.items():
            np.minimum(
                inside,
                wide[:, 2 + row : 2 + row + height, 2 + column : 2 + column + width] + np.float32(length),
                out=inside,
            )
        if (before == inside).all():
            return before
