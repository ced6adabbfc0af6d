"""A set at another size: every image resized once, then held in memory as one array of bytes, unless that is large."""

import hashlib
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tent.data.preprocess import Preprocess
from tent.data.sets.images import Each, Images, Pixels

CHUNK = 256  # images read together
MOST = 2**30  # bytes that are held; images of a larger set are read and resized whenever they are fetched


class ResizedImages(Images):
    """A set whose images are all `size` pixels high and wide, in colour, exactly as `Preprocess` makes them.

    The whole set is resized when its first image is fetched, for images that are gone through many times; a set that
    would take more than `MOST` bytes is not held.
    """

    def __init__(self, images: Images, size: int) -> None:
        super().__init__(f"{images.name} at {size}x{size}", images.labels, images.classes, images.class_names)
        self._images, self._to = images, Preprocess(size=(size, size))
        self._size = size

    def __len__(self) -> int:
        return len(self._images)

    @property
    def extent(self) -> tuple[int, int]:
        """The size, twice."""
        return self._size, self._size

    def fetch(self, indices: NDArray[np.int64], each: Each | None = None) -> Pixels | list[Pixels]:
        """Return a copy of these images."""
        rows: Pixels = self._pixels[indices] if self._is_held else self._resize(indices)
        return rows if each is None else [each(row) for row in rows]

    def where(self, index: int) -> str:
        """Return where the image lies that this one was made from."""
        return self._images.where(index)

    @cached_property
    def sha256(self) -> str:
        """The hash of the set that was resized, and of the size."""
        return hashlib.sha256(f"{self._images.sha256} {self._size}".encode()).hexdigest()

    @property
    def _is_held(self) -> bool:
        return len(self) * self._size**2 * 3 <= MOST

    @cached_property
    def _pixels(self) -> Pixels:
        pixels = np.empty((len(self), self._size, self._size, 3), dtype=np.uint8)
        for first in range(0, len(self), CHUNK):
            chunk = np.arange(first, min(first + CHUNK, len(self)))
            pixels[chunk] = self._resize(chunk)
        return pixels

    def _resize(self, indices: NDArray[np.int64]) -> Pixels:
        return np.stack(list(self._images.fetch(indices, self._to.shape)))
