"""Activations that keep nothing as large as their input: where the input came from, or a bit a value."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from tent.lean import bits
from tent.lean.buffers import Buffers
from tent.lean.gradient import gradient
from tent.lean.layout import as_laid_out, dense
from tent.lean.origin import origin_of, taken_apart

aten = torch.ops.aten


class Activation(NamedTuple):
    """A function of one value."""

    value: Callable[[Tensor, Tensor], Tensor]  # of x, into a given tensor, which may be x itself
    gradient: Callable[[Tensor, Tensor], Tensor]  # of the output's gradient and x, which may be overwritten


RELU = Activation(
    lambda x, out: torch.clamp_min(x, 0, out=out),
    lambda grad, x: aten.threshold_backward.grad_input(grad, x, 0, grad_input=x),
)
RELU6 = Activation(
    lambda x, out: torch.clamp(x, 0, 6, out=out),
    lambda grad, x: aten.hardtanh_backward.grad_input(grad, x, 0, 6, grad_input=x),
)
SILU = Activation(
    lambda x, out: aten.silu.out(x, out=out),
    lambda grad, x: aten.silu_backward.grad_input(grad, x, grad_input=x),
)
HARDSWISH = Activation(lambda x, out: aten.hardswish.out(x, out=out), lambda grad, x: aten.hardswish_backward(grad, x))
GELUS = {
    how: Activation(
        lambda x, out, how=how: aten.gelu.out(x, approximate=how, out=out),  # type: ignore[misc]
        lambda grad, x, how=how: aten.gelu_backward.grad_input(grad, x, approximate=how, grad_input=x),  # type: ignore[misc]
    )
    for how in ("none", "tanh")
}


def relu(buffers: Buffers, input: Tensor, inplace: bool = False) -> Any:
    """Cut at zero; a bit a value is kept at most."""
    done = activated(RELU, buffers, input, inplace)
    if done is NotImplemented and dense(input) and input.is_floating_point():
        return ReLU.apply(input, inplace, buffers)
    return done


def relu6(buffers: Buffers, input: Tensor, inplace: bool = False) -> Any:
    """Cut at zero and at six."""
    return activated(RELU6, buffers, input, inplace)


def silu(buffers: Buffers, input: Tensor, inplace: bool = False) -> Any:
    """Multiply by the sigmoid."""
    return activated(SILU, buffers, input, inplace)


def hardswish(buffers: Buffers, input: Tensor, inplace: bool = False) -> Any:
    """Multiply by the sigmoid's broken line."""
    return activated(HARDSWISH, buffers, input, inplace)


def gelu(buffers: Buffers, input: Tensor, approximate: str = "none") -> Any:
    """Multiply by the normal distribution."""
    return activated(GELUS[approximate], buffers, input, False) if approximate in GELUS else NotImplemented


def activated(activation: Activation, buffers: Buffers, x: Tensor, inplace: bool) -> Any:
    """Apply an activation, if no gradient is wanted or the input can be had again."""
    if not dense(x) or not x.is_floating_point():
        return NotImplemented
    if not (torch.is_grad_enabled() and x.requires_grad):
        return activation.value(x, x if inplace else buffers.like(x))
    origin = origin_of(x)
    if origin is None:
        return NotImplemented
    tensors, together = taken_apart(origin)
    return Again.apply(x, activation, inplace, buffers, together, *tensors)


class Again(Function):
    """An activation whose input is computed again, from where it came from, for the backward pass."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, activation: Activation, inplace: bool, buffers: Buffers, together: Any, *tensors: Tensor
    ) -> Tensor:
        """Return the activation's value."""
        ctx.save_for_backward(*tensors)
        ctx.together, ctx.activation, ctx.buffers = together, activation, buffers
        if inplace:
            ctx.mark_dirty(x)
        return activation.value(x, x if inplace else buffers.like(x))

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input."""
        x = ctx.together(saved).again(ctx.buffers)
        return ctx.activation.gradient(as_laid_out(x, grad, ctx.buffers), x), *(None,) * (4 + len(saved))


class ReLU(Function):
    """A relu that keeps a bit a value."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, inplace: bool, buffers: Buffers) -> Tensor:
        """Cut at zero."""
        if inplace:
            ctx.mark_dirty(x)
        y = RELU.value(x, x if inplace else buffers.like(x))
        ctx.save_for_backward(bits.above_zero(y))
        ctx.buffers, ctx.laid_out = buffers, (y.shape, y.stride())
        return y

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient where the value was above zero."""
        shape, strides = ctx.laid_out
        out = bits.floats(saved[0], ctx.buffers.take(shape, grad, strides))
        return out.mul_(as_laid_out(out, grad, ctx.buffers)), None, None
