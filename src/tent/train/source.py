"""What a source model is trained on: labelled images of one size, and the normalisation they ask for."""

import os

import numpy as np
from numpy.typing import NDArray

from tent.data import Images, Preprocess, load
from tent.data.images import Pixels
from tent.data.preprocess import stacked
from tent.data.resized import Resized

CHUNK = 4096  # rows looked at together


def labelled(name: str, split: str, root: str | os.PathLike[str] | None = None) -> Images:
    """Open one split of a set, which must have labels."""
    images = load(name, split, root)
    if images.labels is None:
        raise ValueError(f"{images.name} has no labels; training needs a labelled set")
    return images


def sized(data: Images, size: int | None) -> Images:
    """A set at the size that a recipe asks for, if it does."""
    return data if size is None else Resized(data, size)


def normalisation(data: Images, size: int | None = None) -> Preprocess:
    """What a training set asks for: the mean and deviation of each of its channels, after the size if it has one."""
    levels = np.arange(256) / 255
    counts = sum(_histogram(data, first) for first in range(0, len(data), CHUNK))
    shares = np.broadcast_to(counts / np.sum(counts, 1, keepdims=True), (3, 256))  # grey is three equal channels
    mean = shares @ levels
    std = np.sqrt((shares * (levels - mean[:, None]) ** 2).sum(1))
    std[std == 0] = 1  # a constant channel has nothing to scale
    return Preprocess(None if size is None else (size, size), None, _rounded(mean), _rounded(std))


def pixels_of(data: Images, indices: NDArray[np.int64]) -> Pixels:
    """Return images of one size as one array."""
    pixels = data.fetch(indices)
    return pixels if isinstance(pixels, np.ndarray) else stacked(pixels)


def _histogram(data: Images, first: int) -> NDArray[np.int64]:
    pixels = pixels_of(data, np.arange(first, min(first + CHUNK, len(data))))
    return np.stack([np.bincount(channel.ravel(), minlength=256) for channel in np.moveaxis(pixels, -1, 0)])


def _rounded(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(round(float(value), 6) for value in values)
