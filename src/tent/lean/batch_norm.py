"""A batch norm over the batch's own statistics: it keeps its input, and nothing else of that size."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from tent.lean.buffers import Buffers
from tent.lean.gradient import gradient
from tent.lean.layout import is_dense, match_layout
from tent.lean.origin import BatchNormOutput, per_channel, scale_and_shift, set_origin
from tent.lean.sums import gradient_sums, moments

WIDE_TYPES = (torch.float32, torch.float64)  # torch's own kernel takes narrow inputs with wide statistics


def batch_norm(buffers: Buffers, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Any:
    """Normalise by the statistics of the batch."""
    if x.dtype not in WIDE_TYPES or x.device.type != "cpu" or not is_dense(x):
        return NotImplemented  # a GPU's own is one kernel
    y, scale, shift = BatchNorm.apply(x, weight, bias, eps, buffers)
    return set_origin(y, BatchNormOutput(x.detach(), scale, shift)) if y.requires_grad else y


def fixed(buffers: Buffers, x: Tensor, mean: Tensor, var: Tensor, weight: Any, bias: Any, eps: float) -> Any:
    """Normalise by given statistics, where no gradient is wanted."""
    wanted = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, weight, bias))
    if wanted or x.dtype not in WIDE_TYPES or x.device.type != "cpu" or not is_dense(x):
        return NotImplemented
    return scale_and_shift(x, *_affine(mean, torch.rsqrt(var + eps), weight, bias), buffers)


class BatchNorm(Function):
    """The batch norm and its gradient, both in buffers that are used again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Any, bias: Any, eps: float, buffers: Buffers) -> tuple[Tensor, ...]:
        """Return the normalised input, and the scale and shift that made it."""
        mean, var = moments(x)
        inverse = torch.rsqrt(var + eps)
        scale, shift = _affine(mean, inverse, weight, bias)
        ctx.save_for_backward(x, weight, mean, inverse)
        ctx.buffers = buffers
        ctx.mark_non_differentiable(scale, shift)
        ctx.set_materialize_grads(False)
        return scale_and_shift(x, scale, shift, buffers), scale, shift

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
        """Return the gradients of the input, the weight and the bias."""
        if grad is None:
            return (None,) * 5
        x, weight, mean, inverse = saved
        grad = match_layout(grad, x, ctx.buffers)
        dweight, dbias = gradient_sums(grad, x, mean, inverse)
        dx = None
        if ctx.needs_input_grad[0]:
            scale = inverse if weight is None else inverse * weight
            mean_of = scale / -(x.numel() // x.shape[1])
            slope = mean_of * inverse * dweight
            offset = torch.addcmul(mean_of * dbias, slope, mean, value=-1)
            dx = scale_and_shift(x, slope, offset, ctx.buffers).addcmul_(grad, per_channel(scale, x))
        wanted = ctx.needs_input_grad
        return dx, dweight if wanted[1] else None, dbias if wanted[2] else None, None, None


def _affine(mean: Tensor, inverse: Tensor, weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    scale = inverse if weight is None else inverse * weight
    return scale, -mean * scale if bias is None else bias - mean * scale
