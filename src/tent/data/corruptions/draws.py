"""Random draws that belong to an image and not to its batch: one counter-based stream an image."""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from tent.data.corruptions.filters import Array, Floats

# the golden ratio's fraction in 64 bits: its multiples fall evenly over 0...1
_GOLDEN = 0x9E3779B97F4A7C15


class Draws:
    """Random numbers for some images of a set, the same for an image whatever images are beside it.

    Philox numbers are a function of a key (seed, type, severity) and a counter. The counter's upper half is the image's
    index and the number of the draw, so the streams of two images, or of two draws, can never meet.
    """

    def __init__(self, seed: int, type: str, severity: int, index: Sequence[int]) -> None:
        self.index = [int(at) for at in index]
        key = np.array([seed, zlib.crc32(type.encode()) * 8 + severity], np.uint64)
        self._bits = np.random.Philox(key=key)
        self._fresh = self._bits.state  # with nothing left over from an earlier draw
        self._generator = np.random.Generator(self._bits)
        self._count = 0

    def _streams(self, index: Sequence[int]) -> Iterator[tuple[int, np.random.Generator]]:
        """Place the generator at the start of the next draw of each image in turn."""
        for row, at in enumerate(index):
            self._fresh["state"]["counter"] = np.array([0, 0, self._count, at], np.uint64)
            self._bits.state = self._fresh
            yield row, self._generator
        self._count += 1

    def normal(self, shape: tuple[int, ...], mean: float = 0, deviation: float = 1) -> Floats:
        """Draw from the normal distribution, `shape` numbers an image."""
        out = np.empty((len(self.index), *shape), np.float32)
        for row, generator in self._streams(self.index):
            generator.standard_normal(out=out[row], dtype=np.float32)
        out *= np.float32(deviation)
        out += np.float32(mean)
        return out

    def uniform(self, shape: tuple[int, ...], low: float = 0, high: float = 1) -> Floats:
        """Draw evenly from low to high, `shape` numbers an image."""
        return _scale(self._uniform(shape, self.index), low, high)

    def integers(self, shape: tuple[int, ...], low: int, high: int) -> Array:
        """Draw whole numbers from low to high - 1, `shape` numbers an image."""
        out = np.empty((len(self.index), *shape), np.int64)
        for row, generator in self._streams(self.index):
            out[row] = generator.integers(low, high, shape)
        return out

    def poisson(self, mean: Floats) -> Array:
        """Draw counts with the given means, an array of an image each."""
        out = np.empty(mean.shape, np.int64)
        for row, generator in self._streams(self.index):
            out[row] = generator.poisson(mean[row])
        return out

    def antithetic(self, shape: tuple[int, ...]) -> Floats:
        """Draw evenly from -1 to 1, where each odd image has the negatives of the even one before it.

        Each image's law is that of `uniform`; the mean over a set hardly varies with the seed.
        """
        out = _scale(self._uniform(shape, [at - at % 2 for at in self.index]), -1, 1)
        out[[at % 2 == 1 for at in self.index]] *= -1
        return out

    def low_discrepancy(self) -> Floats:
        """Draw one number from 0 to 1 an image, such that those of images in a row cover the range evenly."""
        shift = int(self._uniform((1,), [2**64 - 1])[0, 0] * 2**32) << 32  # the same for the whole set
        return np.array([((at * _GOLDEN + shift) % 2**64) / 2**64 for at in self.index])

    def _uniform(self, shape: tuple[int, ...], index: Sequence[int]) -> Floats:
        out = np.empty((len(index), *shape), np.float32)
        for row, generator in self._streams(index):
            generator.random(out=out[row], dtype=np.float32)
        return out


def _scale(draw: Floats, low: float, high: float) -> Floats:
    draw *= np.float32(high - low)
    draw += np.float32(low)
    return draw
