"""Spatter on the lens: drops of water, or mud."""

import numpy as np

from tent.data.corruptions.arrays import Array, Floats, Images, reflected, unit
from tent.data.corruptions.convolution import correlated, gaussian, padded
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.edges import distance, edges
from tent.data.corruptions.severities import Constant

_WATER = np.array([175, 238, 238], np.float32) / 255
_MUD = np.array([63, 42, 20], np.float32) / 255
_RELIEF = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float32)


def spatter(images: Images, constant: Constant, draws: Draws) -> Array:
    """Put drops where a blurred normal layer is above a threshold."""
    mean, deviation, sigma, threshold, strength, mud = constant
    layer = gaussian(draws.normal(images.shape[1:3], mean, deviation), sigma)
    layer = np.where(layer < threshold, 0, layer)
    x = unit(images, np.float32)
    if mud:
        cover = gaussian((layer > threshold).astype(np.float32), strength)[..., None]
        cover = np.where(cover < 0.8, 0, cover)
        return np.asarray(x * (1 - cover) + cover * _MUD)
    return np.asarray(x + _water(layer, strength)[..., None] * _WATER)


def _water(layer: Floats, strength: float) -> Floats:
    """Shade drops by how far they are from their edge and by the light from the upper left."""
    drops = (layer * 255).astype(np.uint8)
    depth = np.floor(_smoothed(distance(edges(drops), limit=20)) + np.float32(1e-4))
    relief = np.clip(correlated(_equalized(depth.astype(np.int64)), _RELIEF), 0, 255)
    shade = drops * np.rint(_smoothed(relief))
    peak = shade.max((1, 2), keepdims=True)
    return np.asarray(shade / np.where(peak > 0, peak, 1) * np.float32(strength))


def _smoothed(x: Floats) -> Floats:
    """Take the mean of 3 x 3 pixels."""
    wide = padded(x, 1, 1, reflected)
    rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
    return np.asarray((rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:]) / np.float32(9))


def _equalized(levels: Array) -> Floats:
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
