"""Enlargement about the centre, bilinear, as the published generator samples it."""

from dataclasses import dataclass

import numpy as np

from tent.data.corruptions.arrays import Array, Floats


@dataclass(frozen=True)
class Zoom:
    """An enlargement of axes 0 and 1 by a factor, cut to the size it had."""

    factor: float

    def of(self, x: Floats) -> Floats:
        """Enlarge an array whose first two axes are rows and columns."""
        if self.factor == 1:
            return x
        below, above, share = self._samples(x.shape[0])
        share = share.reshape(-1, *[1] * (x.ndim - 1)).astype(x.dtype)
        x = _between(x[below], x[above], share)
        below, above, share = self._samples(x.shape[1])
        share = share.reshape(-1, *[1] * (x.ndim - 2)).astype(x.dtype)
        return _between(x[:, below], x[:, above], share)

    def _samples(self, size: int) -> tuple[Array, Array, Floats]:
        """Say which two pixels of a line each new pixel lies between, and how near the second."""
        kept = int(np.ceil(size / self.factor))
        grown = round(kept * self.factor)
        at = np.arange(size) + (grown - size) // 2
        place = np.minimum(at * ((kept - 1) / max(grown - 1, 1)), kept - 1)
        below = place.astype(np.int64)
        first = (size - kept) // 2
        return first + below, first + np.minimum(below + 1, kept - 1), place - below


def _between(low: Floats, high: Floats, share: Floats) -> Floats:
    """Go from low to high by the share; writes over `high`."""
    high -= low
    high *= share
    high += low
    return high
