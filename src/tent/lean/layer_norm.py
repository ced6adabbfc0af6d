"""A layer norm whose output can be had again from its input, which it keeps: what comes next need not keep it."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from tent.lean.buffers import Buffers
from tent.lean.gradient import gradient
from tent.lean.layout import is_plain
from tent.lean.origin import LayerNormOutput, set_origin

native_layer_norm_backward = torch.ops.aten.native_layer_norm_backward


def layer_norm(
    buffers: Buffers,
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Any:
    """Normalise each position by its own statistics."""
    if weight is None or bias is None or input.dtype != weight.dtype or not torch.is_grad_enabled():
        return NotImplemented
    if not is_plain(input) or not input.is_contiguous() or not tuple(normalized_shape) == weight.shape == bias.shape:
        return NotImplemented
    y: Tensor = LayerNorm.apply(input, weight, bias, eps)
    origin = LayerNormOutput(input.detach(), weight.detach(), bias.detach(), eps)
    return set_origin(y, origin) if y.requires_grad else y


class LayerNorm(Function):
    """Torch's own layer norm, under a name by which its output can be told from others."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        """Return what torch's layer norm does."""
        y, mean, inverse = torch.native_layer_norm(x, weight.shape, weight, bias, eps)
        ctx.save_for_backward(x, weight, bias, mean, inverse)
        return y

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the input, the weight and the bias."""
        x, weight, bias, mean, inverse = saved
        wanted = list(ctx.needs_input_grad[:3])
        return *native_layer_norm_backward(
            grad.contiguous(), x, weight.shape, mean, inverse, weight, bias, wanted
        ), None
