"""Activations that keep nothing as large as their input: where the input came from, or a bit a value."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from tent.lean.buffers import Buffers
from tent.lean.gradient import gradient
from tent.lean.layout import is_dense, match_layout
from tent.lean.origin import get_origin, unpack

GATHER = 0x0102040810204080  # times eight bytes of 0 or 1: its top byte has them as bits
BITS = (torch.arange(256, device="cpu")[:, None] >> torch.arange(8, device="cpu")) & 1  # (256, 8)
aten = torch.ops.aten
threshold_backward, hardtanh_backward = aten.threshold_backward.grad_input, aten.hardtanh_backward.grad_input
silu_out, silu_backward = aten.silu.out, aten.silu_backward.grad_input
hardswish_out, hardswish_backward = aten.hardswish.out, aten.hardswish_backward
gelu_out, gelu_backward = aten.gelu.out, aten.gelu_backward.grad_input


class Activation(NamedTuple):
    """A function of one value."""

    value: Callable[[Tensor, Tensor], Tensor]  # of x, into a given tensor, which may be x itself
    gradient: Callable[[Tensor, Tensor], Tensor]  # of the output's gradient and x, which may be overwritten


RELU = Activation(
    lambda x, out: torch.clamp_min(x, 0, out=out),
    lambda grad, x: threshold_backward(grad, x, 0, grad_input=x),
)
SILU = Activation(
    lambda x, out: silu_out(x, out=out),
    lambda grad, x: silu_backward(grad, x, grad_input=x),
)
HARDSWISH = Activation(lambda x, out: hardswish_out(x, out=out), lambda grad, x: hardswish_backward(grad, x))
GELUS = {
    how: Activation(
        lambda x, out, how=how: gelu_out(x, approximate=how, out=out),  # type: ignore[misc]
        lambda grad, x, how=how: gelu_backward(grad, x, approximate=how, grad_input=x),  # type: ignore[misc]
    )
    for how in ("none", "tanh")
}


def relu(buffers: Buffers, input: Tensor, inplace: bool = False) -> Any:
    """Cut at zero; a bit a value is kept at most."""
    done = apply_activation(RELU, buffers, input, inplace)
    if done is NotImplemented and is_dense(input):
        return ReLU.apply(input, inplace, buffers)
    return done


def relu6(buffers: Buffers, input: Tensor, inplace: bool = False) -> Any:
    """Cut at zero and at six."""
    return hardtanh(buffers, input, 0.0, 6.0, inplace)


def hardtanh(
    buffers: Buffers, input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Any:
    """Cut at a least and a greatest value; `nn.ReLU6` calls this, and not relu6."""
    if not isinstance(min_val, int | float) or not isinstance(max_val, int | float) or min_val > max_val:
        return NotImplemented
    return apply_activation(clamp_activation(min_val, max_val), buffers, input, inplace)


def clamp_activation(low: float, high: float) -> Activation:
    """Return the activation that cuts at two values."""
    return Activation(
        lambda x, out: torch.clamp(x, low, high, out=out),
        lambda grad, x: hardtanh_backward(grad, x, low, high, grad_input=x),
    )


def silu(buffers: Buffers, input: Tensor, inplace: bool = False) -> Any:
    """Multiply by the sigmoid."""
    return apply_activation(SILU, buffers, input, inplace)


def hardswish(buffers: Buffers, input: Tensor, inplace: bool = False) -> Any:
    """Multiply by the sigmoid's broken line."""
    return apply_activation(HARDSWISH, buffers, input, inplace)


def gelu(buffers: Buffers, input: Tensor, approximate: str = "none") -> Any:
    """Multiply by the normal distribution."""
    return apply_activation(GELUS[approximate], buffers, input, False) if approximate in GELUS else NotImplemented


def apply_activation(activation: Activation, buffers: Buffers, x: Tensor, inplace: bool) -> Any:
    """Apply an activation, if no gradient is wanted or the input can be recomputed."""
    if not is_dense(x):
        return NotImplemented
    if not (torch.is_grad_enabled() and x.requires_grad):
        return activation.value(x, x if inplace else buffers.like(x))
    origin = get_origin(x) if buffers.recomputes else None
    if origin is None:
        return NotImplemented
    tensors, pack = unpack(origin)
    buffers.note_reads(tensors)
    return RecomputedActivation.apply(x, activation, inplace, buffers, pack, *tensors)


class RecomputedActivation(Function):
    """An activation whose input is recomputed from its origin for the backward pass."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, activation: Activation, inplace: bool, buffers: Buffers, pack: Any, *tensors: Tensor
    ) -> Tensor:
        """Return the activation's value."""
        ctx.save_for_backward(*tensors)
        ctx.pack, ctx.activation, ctx.buffers = pack, activation, buffers
        if inplace:
            ctx.mark_dirty(x)
        return activation.value(x, x if inplace else buffers.like(x))

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input."""
        x = ctx.pack(saved).recompute(ctx.buffers)
        return ctx.activation.gradient(match_layout(grad, x, ctx.buffers), x), *(None,) * (4 + len(saved))


class ReLU(Function):
    """A relu that keeps a bit a value."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, inplace: bool, buffers: Buffers) -> Tensor:
        """Cut at zero."""
        if inplace:
            ctx.mark_dirty(x)
        y = RELU.value(x, x if inplace else buffers.like(x))
        ctx.save_for_backward(pack_positive(y))
        ctx.buffers, ctx.layout = buffers, (y.shape, y.stride())
        return y

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient where the value was above zero."""
        shape, strides = ctx.layout
        out = unpack_bits(saved[0], ctx.buffers.take(shape, grad, strides))
        return out.mul_(match_layout(grad, out, ctx.buffers)), None, None


def pack_positive(x: Tensor) -> Tensor:
    """Return eight values a byte, in the order of memory; x is dense."""
    mask = _flat(x) > 0
    if left := mask.numel() % 8:
        mask = torch.nn.functional.pad(mask, (0, 8 - left))
    return (mask.view(torch.int64) * GATHER >> 56).to(torch.uint8)


def unpack_bits(bits: Tensor, out: Tensor) -> Tensor:
    """Fill a dense tensor with 1 where the bit is set and 0 elsewhere."""
    table = BITS.to(out.device, out.dtype)
    count = out.numel()
    if count % 8:
        _flat(out).copy_(table[bits.int()].flatten()[:count])
    else:
        torch.index_select(table, 0, bits.int(), out=_flat(out).view(-1, 8))
    return out


def _flat(x: Tensor) -> Tensor:
    return x.as_strided((x.numel(),), (1,))
