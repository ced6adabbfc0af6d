"""Where a tensor came from, if it can be computed again from what is kept anyway, or is much smaller."""

from typing import NamedTuple

import torch
from torch import Tensor

from tent.lean.buffers import Buffers
from tent.lean.matrix import product


class Line(NamedTuple):
    """A batch norm's output: `x * scale + shift`, one scale and one shift a channel; the batch norm keeps x."""

    x: Tensor
    scale: Tensor
    shift: Tensor

    def again(self, buffers: Buffers) -> Tensor:
        """Compute it, to the same bits every time."""
        scale, shift = wide(self.scale, self.x), wide(self.shift, self.x)
        return torch.addcmul(shift, self.x, scale, out=buffers.like(self.x))


class Product(NamedTuple):
    """A linear layer's output, often four times as large as its input."""

    x: Tensor
    weight: Tensor
    bias: Tensor | None

    def again(self, buffers: Buffers) -> Tensor:
        """Compute it, to the same bits every time."""
        return product(*self, buffers)


Origin = Line | Product


def mark(y: Tensor, origin: Origin) -> Tensor:
    """Note where a tensor came from, for as long as it is not written to."""
    y.origin = (y._version, origin)  # type: ignore[attr-defined]
    return y


def origin_of(y: Tensor) -> Origin | None:
    """Return where a tensor came from, if that is known."""
    version, origin = getattr(y, "origin", (None, None))
    return origin if version == y._version else None


def wide(channels: Tensor, x: Tensor) -> Tensor:
    """Return one value a channel in a shape that goes with x."""
    return channels.view(1, -1, *[1] * (x.dim() - 2))
