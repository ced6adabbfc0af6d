"""Where a tensor came from, if it can be computed again from what is kept anyway, or is much smaller."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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


class Normal(NamedTuple):
    """A layer norm's output; the layer norm keeps x."""

    x: Tensor
    scale: Tensor
    shift: Tensor
    eps: float

    def again(self, buffers: Buffers) -> Tensor:
        """Compute it, to the same bits every time."""
        return torch.layer_norm(self.x, self.scale.shape, self.scale, self.shift, self.eps)


class NormalProduct(NamedTuple):
    """The output of a linear layer behind a layer norm."""

    x: Tensor
    scale: Tensor
    shift: Tensor
    eps: float
    weight: Tensor
    bias: Tensor | None
    dtype: torch.dtype  # that is multiplied in

    def again(self, buffers: Buffers) -> Tensor:
        """Compute it, to the same bits every time."""
        return product(Normal(*self[:4]).again(buffers).to(self.dtype), self.weight, self.bias, buffers)


Origin = Line | Product | Normal | NormalProduct


def mark(y: Tensor, origin: Origin) -> Tensor:
    """Note where a tensor came from, for as long as it is not written to."""
    y.origin = (y._version, origin)  # type: ignore[attr-defined]
    return y


def origin_of(y: Tensor) -> Origin | None:
    """Return where a tensor came from, if that is known."""
    version, origin = getattr(y, "origin", (None, None))
    return origin if version == y._version else None


def taken_apart(origin: Origin) -> tuple[list[Tensor], Callable[[Sequence[Tensor]], Origin]]:
    """Return the tensors that an origin holds, and what makes it of such tensors again."""
    places = [i for i, value in enumerate(origin) if isinstance(value, Tensor)]
    rest: list[Any] = [None if isinstance(value, Tensor) else value for value in origin]

    def together(tensors: Sequence[Tensor]) -> Origin:
        values = list(rest)
        for place, tensor in zip(places, tensors, strict=True):
            values[place] = tensor
        return type(origin)(*values)

    return [value for value in origin if isinstance(value, Tensor)], together


def wide(channels: Tensor, x: Tensor) -> Tensor:
    """Return one value a channel in a shape that goes with x."""
    return channels.view(1, -1, *[1] * (x.dim() - 2))
