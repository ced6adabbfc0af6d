"""Sums over every pixel's footprint, place by place: the features are never copied for each."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


def aggregate(padded: Tensor, weight: Tensor) -> Tensor:
    """Return the weighted sum of every pixel's footprint; channel c has the weights c mod their number."""
    # (n, channels, height + 2 reach, width + 2 reach), (n, weights, footprint², height, width)
    sides = [padded.shape[axis] - weight.shape[axis + 1] + 1 for axis in (2, 3)]
    if sides[0] != sides[1] or sides[0] ** 2 != weight.shape[2]:
        raise ValueError(f"weights of {tuple(weight.shape)} are not those of footprints in {tuple(padded.shape)}")
    dtype = torch.promote_types(padded.dtype, weight.dtype)  # autocast leaves a softmax wide
    total: Tensor = Aggregation.apply(padded.to(dtype), weight.to(dtype))
    return total


class Aggregation(Function):
    """The sum over a footprint and its gradients, each place added to what is there already.

    Inside, the batch axis is last: rows of a small map are too short for a processor to go along. There is no second
    derivative.
    """

    @staticmethod
    def forward(ctx: Any, padded: Tensor, weight: Tensor) -> Tensor:
        """Return the sum."""  # (n, channels, height, width)
        ctx.save_for_backward(padded, weight)
        values, own = _groups(padded, weight.shape[1]), _batch_last(weight)
        total = values.new_zeros(*values.shape[:2], *own.shape[2:])
        for place, part in enumerate(_places(values, weight)):
            total.addcmul_(part, own[:, place])
        return _batch_first(total.flatten(0, 1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Return the gradients of the features and of the weights."""
        padded, weight = ctx.saved_tensors
        out, wanted = _groups(grad, weight.shape[1]), ctx.needs_input_grad
        # one after the other, so that what is held for the features is gone when the larger weights' turn comes
        of_features = _feature_gradient(out, padded, weight) if wanted[0] else None
        return of_features, _weight_gradient(out, padded, weight) if wanted[1] else None


def _feature_gradient(out: Tensor, padded: Tensor, weight: Tensor) -> Tensor:
    own = _batch_last(weight)
    total = out.new_zeros(*out.shape[:2], *padded.shape[2:], padded.shape[0])
    for place, part in enumerate(_places(total, weight)):
        part.addcmul_(out, own[:, place])
    return _batch_first(total.flatten(0, 1))


def _weight_gradient(out: Tensor, padded: Tensor, weight: Tensor) -> Tensor:
    values, product = _groups(padded, weight.shape[1]), torch.empty_like(out)
    total = out.new_empty(*weight.shape[1:], weight.shape[0])
    for place, part in enumerate(_places(values, weight)):
        torch.sum(torch.mul(out, part, out=product), 0, out=total[:, place])
    return _batch_first(total)


def _batch_last(x: Tensor) -> Tensor:
    return x.flatten(1).t().contiguous().view(*x.shape[1:], x.shape[0])


def _batch_first(x: Tensor) -> Tensor:
    first = x.new_empty(x.shape[-1], *x.shape[:-1])
    first.flatten(1).copy_(x.flatten(0, -2).t())
    return first


def _groups(x: Tensor, weights: int) -> Tensor:
    # (channels / weights, weights, height, width, n)
    return _batch_last(x).view(x.shape[1] // weights, weights, *x.shape[2:], x.shape[0])


def _places(values: Tensor, weight: Tensor) -> list[Tensor]:
    # what each place of the footprint sees, as views
    height, width = weight.shape[3:]
    side = values.shape[2] - height + 1
    return [
        values[:, :, row : row + height, column : column + width]
        for row, column in (divmod(place, side) for place in range(side**2))
    ]
