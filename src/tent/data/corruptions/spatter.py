"""Spatter on the lens: drops of water, or mud; edges and distances are those of OpenCV."""

import numpy as np

from tent.data.corruptions.constants import Constant
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.filters import Array, Floats, Images, clamp, correlate, gaussian, pad, reflect, to_unit

_WATER = np.array([175, 238, 238], np.float32) / 255
_MUD = np.array([63, 42, 20], np.float32) / 255
_RELIEF = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float32)
_LOW, _HIGH = 50, 150
# tan(22.5 degrees) in 15 bits
_TANGENT = 13573
# steps of the distance and their lengths: straight, diagonal, and the chess knight's
_STEPS = {(0, 1): 1.0, (1, 1): 1.4, (1, 2): 2.1969}


def spatter(images: Images, constant: Constant, draws: Draws) -> Array:
    """Put drops where a blurred normal layer is above a threshold."""
    mean, deviation, sigma, threshold, strength, mud = constant
    layer = gaussian(draws.normal(images.shape[1:3], mean, deviation), sigma)
    layer = np.where(layer < threshold, 0, layer)
    x = to_unit(images, np.float32)
    if mud:
        cover = gaussian((layer > threshold).astype(np.float32), strength)[..., None]
        cover = np.where(cover < 0.8, 0, cover)
        return np.asarray(x * (1 - cover) + cover * _MUD)
    return np.asarray(x + _water(layer, strength)[..., None] * _WATER)


def _water(layer: Floats, strength: float) -> Floats:
    """Shade drops by how far they are from their edge and by the light from the upper left."""
    drops = (layer * 255).astype(np.uint8)
    depth = np.floor(_box_mean(distance(edges(drops), limit=20)) + np.float32(1e-4))
    relief = np.clip(correlate(_equalize(depth.astype(np.int64)), _RELIEF), 0, 255)
    shade = drops * np.rint(_box_mean(relief))
    peak = shade.max((1, 2), keepdims=True)
    return np.asarray(shade / np.where(peak > 0, peak, 1) * np.float32(strength))


def _box_mean(x: Floats) -> Floats:
    """Take the mean of 3 x 3 pixels."""
    wide = pad(x, 1, 1, reflect)
    rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
    return np.asarray((rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:]) / np.float32(9))


def _equalize(levels: Array) -> Floats:
    """Spread each image's whole-number levels evenly over 0...255, by their ranks."""
    n, height, width = levels.shape
    count = int(levels.max()) + 1
    own = (np.arange(n) * count)[:, None, None]
    histogram = np.bincount((own + levels).ravel(), minlength=n * count).reshape(n, count)
    first = histogram[np.arange(n), (histogram > 0).argmax(1)]
    rest = (height * width - first)[:, None]
    # the lowest level that occurs becomes 0; an image of one level stays as it is
    ranks = np.rint((histogram.cumsum(1) - first[:, None]) * (255 / np.maximum(rest, 1)))
    table = np.where(rest > 0, ranks, np.arange(count))
    return table.astype(np.float32).ravel()[own + levels]


def edges(layer: Array) -> Array:
    """Find the edges of layers, (n, height, width) of 8 bits, as booleans."""
    down, right = _slopes(layer)
    size = abs(down) + abs(right)
    peaks = _peaks(size, down, right) & (size > _LOW)
    found = peaks & (size > _HIGH)
    while True:  # a weak edge counts where it touches one that counts
        grown = peaks & _dilate(found)
        if (grown == found).all():
            return found
        found = grown


def _slopes(layer: Array) -> tuple[Array, Array]:
    """Take the differences downwards and to the right over 3 x 3 pixels."""
    wide = pad(layer.astype(np.int32), 1, 1, clamp)
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


def _dilate(found: Array) -> Array:
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
