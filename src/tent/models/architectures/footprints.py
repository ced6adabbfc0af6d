"""What a SAN does to every pixel's footprint, place by place: the features are never copied for each."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable


def aggregate(padded: Tensor, weight: Tensor) -> Tensor:
    """Return the weighted sum of every pixel's footprint; channel c has the weights c mod their number."""
    dtype = torch.promote_types(padded.dtype, weight.dtype)  # autocast leaves a softmax wide
    # (n, channels, height + 2 reach, width + 2 reach), (n, weights, footprint², height, width)
    return Aggregation.apply(padded.to(dtype), weight.to(dtype))  # type: ignore[no-any-return]


class Aggregation(Function):
    """The sum over a footprint and its gradients, each place added to what is there already.

    Images are innermost in between: rows of a small map are too short for a processor to go along.
    """

    @staticmethod
    def forward(ctx: Any, padded: Tensor, weight: Tensor) -> Tensor:
        """Return the sum."""  # (n, channels, height, width)
        ctx.save_for_backward(padded, weight)
        values, own = _groups(padded, weight.shape[1]), _images_last(weight)
        total = values.new_zeros(*values.shape[:2], *own.shape[2:])
        for place, part in enumerate(_shifts(values, own)):
            total.addcmul_(part, own[:, place])
        return _images_first(total.flatten(0, 1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Return the gradients of the features and of the weights."""
        padded, weight = ctx.saved_tensors
        out, wanted = _groups(grad, weight.shape[1]), ctx.needs_input_grad
        # one after the other, so that what is held for the features is gone when the larger weights' turn comes
        of_features = _feature_gradient(out, padded, weight) if wanted[0] else None
        return of_features, _weight_gradient(out, padded, weight) if wanted[1] else None


class MatrixConv(nn.Conv2d):
    """A 1x1 convolution as a product of matrices, which is faster where there are few channels and many places."""

    def __init__(self, channels: int, out_channels: int, bias: bool = True) -> None:
        super().__init__(channels, out_channels, 1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return what the convolution does."""
        y = torch.bmm(self.weight.flatten(1).expand(len(x), -1, -1), x.flatten(2))  # matmul would copy x
        y = y if self.bias is None else y + self.bias[:, None]
        return y.view(*y.shape[:2], *x.shape[2:])


def _images_last(x: Tensor) -> Tensor:
    return x.flatten(1).t().contiguous().view(*x.shape[1:], len(x))


def _images_first(x: Tensor) -> Tensor:
    return x.flatten(0, -2).t().contiguous().view(x.shape[-1], *x.shape[:-1])


def _groups(x: Tensor, weights: int) -> Tensor:
    # (channels / weights, weights, height, width, n)
    return _images_last(x).view(x.shape[1] // weights, weights, *x.shape[2:], len(x))


def _shifts(values: Tensor, own: Tensor) -> list[Tensor]:
    # what each place of the footprint sees, as views
    height, width = own.shape[2:4]
    side = values.shape[2] - height + 1
    return [
        values[:, :, row : row + height, column : column + width]
        for row, column in (divmod(place, side) for place in range(side**2))
    ]


def _feature_gradient(out: Tensor, padded: Tensor, weight: Tensor) -> Tensor:
    own = _images_last(weight)
    total = out.new_zeros(*out.shape[:2], *padded.shape[2:], len(padded))
    for place, part in enumerate(_shifts(total, own)):
        part.addcmul_(out, own[:, place])
    return _images_first(total.flatten(0, 1))


def _weight_gradient(out: Tensor, padded: Tensor, weight: Tensor) -> Tensor:
    values, product = _groups(padded, weight.shape[1]), torch.empty_like(out)
    total = out.new_empty(*weight.shape[1:], len(weight))
    for place, part in enumerate(_shifts(values, total)):
        torch.sum(torch.mul(out, part, out=product), 0, out=total[:, place])
    return _images_first(total)
