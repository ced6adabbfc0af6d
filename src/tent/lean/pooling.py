"""Pooling that keeps the shape of its input, and of a maximum its place in the window in one byte."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from tent.lean.buffers import Buffers
from tent.lean.gradient import gradient
from tent.lean.layout import is_dense

aten = torch.ops.aten
max_pool2d_with_indices = aten.max_pool2d_with_indices
max_pool2d_backward = aten.max_pool2d_with_indices_backward
aten_avg_pool2d = aten.avg_pool2d
avg_pool2d_backward = aten.avg_pool2d_backward


def avg_pool2d(buffers: Buffers, input: Tensor, *how: Any, **more: Any) -> Any:
    """Return what torch's avg_pool2d does."""
    if not _has_gradient(input):
        return NotImplemented
    return AvgPool2d.apply(input, how, more)


def max_pool2d(
    buffers: Buffers,
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return what torch's max_pool2d does."""
    kernel = _pair(kernel_size)
    if not _has_gradient(input) or return_indices or kernel[0] * kernel[1] > 256:
        return NotImplemented
    how = (kernel, _pair(stride) if stride else kernel, _pair(padding), _pair(dilation), ceil_mode)
    return MaxPool2d.apply(input, *how)


class AvgPool2d(Function):
    """The mean of each window."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, how: tuple[Any, ...], more: dict[str, Any]) -> Any:
        """Return the means."""
        ctx.layout, ctx.how = (x.shape, x.stride()), _average_arguments(*how, **more)
        return aten_avg_pool2d(x, *ctx.how)

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input, of which only the shape matters."""
        return avg_pool2d_backward(grad, _placeholder(ctx.layout, grad), *ctx.how), None, None


class MaxPool2d(Function):
    """The largest value of each window."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *how: Any) -> Any:
        """Return the maxima; kept is their place in the window."""
        y, places = max_pool2d_with_indices(x, *how)
        ctx.layout, ctx.how = (x.shape, x.stride()), how
        (_, across), stride, padding, dilation, _ = how
        top, left = _corners(places, stride, padding)
        row, column = places // x.shape[-1] - top, places % x.shape[-1] - left
        ctx.save_for_backward((row // dilation[0] * across + column // dilation[1]).to(torch.uint8))
        return y

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient at the places of the maxima."""
        inside, width = saved[0].long(), ctx.layout[0][-1]
        (_, across), stride, padding, dilation, _ = ctx.how
        top, left = _corners(inside, stride, padding)
        places = (inside // across * dilation[0] + top) * width + inside % across * dilation[1] + left
        input = _placeholder(ctx.layout, grad)
        return max_pool2d_backward(grad, input, *ctx.how, places), *(None,) * len(ctx.how)


def _corners(y: Tensor, stride: tuple[int, int], padding: tuple[int, int]) -> tuple[Tensor, Tensor]:
    # the row and the column of the input at which each window begins
    rows, columns = (torch.arange(size, device=y.device) for size in y.shape[-2:])
    return rows[:, None] * stride[0] - padding[0], columns * stride[1] - padding[1]


def _average_arguments(
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> tuple[Any, ...]:
    kernel = _pair(kernel_size)
    return kernel, _pair(stride) if stride else kernel, _pair(padding), ceil_mode, count_include_pad, divisor_override


def _has_gradient(x: Tensor) -> bool:
    return torch.is_grad_enabled() and x.requires_grad and is_dense(x) and x.dim() == 4


def _placeholder(layout: Any, grad: Tensor) -> Tensor:
    # an input whose shape and strides matter, and its values do not
    return torch.empty_strided(*layout, dtype=grad.dtype, device=grad.device)


def _pair(value: Any) -> tuple[int, int]:
    first, *rest = (value,) if isinstance(value, int) else tuple(value)
    return first, rest[0] if rest else first
