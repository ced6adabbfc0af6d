"""Where a tensor came from, if it can be recomputed from what is kept anyway, or is much smaller."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tent.lean.buffers import Buffers
from tent.lean.matrix import product


class BatchNormOutput(NamedTuple):
    """A batch norm's output: `x * scale + shift`, one scale and one shift a channel; the batch norm keeps x."""

    x: Tensor
    scale: Tensor
    shift: Tensor

    def recompute(self, buffers: Buffers) -> Tensor:
        """Return it, the same bits every time."""
        return scale_and_shift(*self, buffers)


class LinearOutput(NamedTuple):
    """A linear layer's output, often four times as large as its input."""

    x: Tensor
    weight: Tensor
    bias: Tensor | None

    def recompute(self, buffers: Buffers) -> Tensor:
        """Return it, the same bits every time."""
        return product(*self, buffers)


class LayerNormOutput(NamedTuple):
    """A layer norm's output; the layer norm keeps x."""

    x: Tensor
    scale: Tensor
    shift: Tensor
    eps: float

    def recompute(self, buffers: Buffers) -> Tensor:
        """Return it, the same bits every time."""
        return torch.layer_norm(self.x, self.scale.shape, self.scale, self.shift, self.eps)


class LayerNormLinearOutput(NamedTuple):
    """The output of a linear layer behind a layer norm."""

    x: Tensor
    scale: Tensor
    shift: Tensor
    eps: float
    weight: Tensor
    bias: Tensor | None
    dtype: torch.dtype  # that is multiplied in

    def recompute(self, buffers: Buffers) -> Tensor:
        """Return it, the same bits every time."""
        x = LayerNormOutput(*self[:4]).recompute(buffers).to(self.dtype)
        return product(x, self.weight, self.bias, buffers)


Origin = BatchNormOutput | LinearOutput | LayerNormOutput | LayerNormLinearOutput


def set_origin(y: Tensor, origin: Origin) -> Tensor:
    """Note where a tensor came from, for as long as neither it nor what it was computed from is written to."""
    y.origin = (origin, _versions(y, origin))  # type: ignore[attr-defined]
    return y


def get_origin(y: Tensor) -> Origin | None:
    """Return where a tensor came from, if that is known and still true."""
    origin, versions = getattr(y, "origin", (None, None))
    return origin if origin is not None and versions == _versions(y, origin) else None


def unpack(origin: Origin) -> tuple[list[Tensor], Callable[[Sequence[Tensor]], Origin]]:
    """Return the tensors that an origin holds, and the function that puts such tensors in their place."""
    places = [i for i, value in enumerate(origin) if isinstance(value, Tensor)]
    rest: list[Any] = [None if isinstance(value, Tensor) else value for value in origin]

    def pack(tensors: Sequence[Tensor]) -> Origin:
        values = list(rest)
        for place, tensor in zip(places, tensors, strict=True):
            values[place] = tensor
        return type(origin)(*values)

    return [value for value in origin if isinstance(value, Tensor)], pack


def scale_and_shift(x: Tensor, scale: Tensor, shift: Tensor, buffers: Buffers) -> Tensor:
    """Return x times a scale a channel plus a shift a channel."""
    return torch.addcmul(per_channel(shift, x), x, per_channel(scale, x), out=buffers.like(x))


def per_channel(values: Tensor, x: Tensor) -> Tensor:
    """Return one value a channel in a shape that goes with x."""
    return values.view(1, -1, *[1] * (x.dim() - 2))


def _versions(y: Tensor, origin: Origin) -> list[int]:
    return [y._version, *(value._version for value in origin if isinstance(value, Tensor))]
