"""A convolution that does not move, which keeps its weight and nothing of its input."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

convolution_backward = torch.ops.aten.convolution_backward


class Convolution(Function):
    """Convolve with frozen weights; only the gradient of the input can be asked for."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, *how: Any) -> Tensor:
        """Return what `torch.convolution` does."""
        ctx.save_for_backward(weight)
        ctx.how, ctx.like = how, (x.shape, x.stride(), x.dtype)
        return torch.convolution(x, weight, bias, *how)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input, whose values have no part in it."""
        (weight,) = ctx.saved_tensors
        shape, strides, dtype = ctx.like
        unread = torch.empty_strided(shape, strides, dtype=dtype, device=grad.device)
        dx, _, _ = convolution_backward(grad, unread, weight, None, *ctx.how, (True, False, False))
        return dx, *(None,) * (2 + len(ctx.how))
