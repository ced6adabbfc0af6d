"""Convolutions and linear layers that do not move: they keep their weight, and nothing of their input."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from tent.lean.buffers import Buffers
from tent.lean.gradient import gradient
from tent.lean.matrix import product
from tent.lean.origin import Normal, NormalProduct, Product, mark, origin_of

WIDENS = 2  # times as many values out as in, from which on they are worth computing again
SHARE = 3  # of so many such layers one is not run again: all of them would cost more time than all else here saves


def costly(model: nn.Module) -> frozenset[int]:
    """Return where in memory those weights of a model lie whose products are kept, rather than computed again."""
    weights = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
    wide = [w for w in weights if type(w) is nn.Parameter and _widens(w)]
    return frozenset(weight.data_ptr() for weight in wide[::SHARE])


def convolution(axes: int) -> Any:
    """Return the convolution over so many axes."""

    def convolved(
        buffers: Buffers,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        if not _frozen(input, weight, bias) or isinstance(padding, str) or input.dim() != axes + 2:
            return NotImplemented
        how = [(value,) * axes if isinstance(value, int) else tuple(value) for value in (stride, padding, dilation)]
        return Convolution.apply(input, weight, bias, *how, False, (0,) * axes, groups)

    return convolved


def linear(buffers: Buffers, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """Multiply by a frozen matrix."""
    if type(input) is not Tensor or not input.is_contiguous() or input.dim() < 2 or not input.is_floating_point():
        return NotImplemented
    if not _frozen(input, weight, bias):
        wanted = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (input, weight, bias))
        alike = not wanted and _narrow(input) == input.dtype == weight.dtype
        return product(input, weight, bias, buffers) if alike else NotImplemented
    y: Tensor = Linear.apply(input, weight, bias, buffers)
    if not _widens(weight) or weight.data_ptr() in buffers.costly:
        return y
    before = origin_of(input)
    if isinstance(before, Normal):
        return mark(y, NormalProduct(*before, weight, bias, _narrow(input)))
    return mark(y, Product(input.detach().to(_narrow(input)), weight, bias))


class Convolution(Function):
    """A convolution of which only the input's gradient can be asked for."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, *how: Any) -> Tensor:
        """Return what torch.convolution does."""
        ctx.save_for_backward(weight)
        ctx.how, ctx.laid_out = how, (x.shape, x.stride())
        dtype = _narrow(x)
        return torch.convolution(x.to(dtype), weight.to(dtype), None if bias is None else bias.to(dtype), *how)

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input, whose values have no part in it."""
        shape, strides = ctx.laid_out
        unread = torch.empty_strided(shape, strides, dtype=grad.dtype, device=grad.device)
        weight = saved[0].to(grad.dtype)  # under autocast, what was multiplied was narrower
        dx, _, _ = torch.ops.aten.convolution_backward(grad, unread, weight, None, *ctx.how, (True, False, False))
        return dx, *(None,) * (2 + len(ctx.how))


class Linear(Function):
    """A linear layer of which only the input's gradient can be asked for."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, buffers: Buffers) -> Tensor:
        """Return what torch's linear does."""
        ctx.save_for_backward(weight)
        ctx.buffers = buffers
        return product(x.to(_narrow(x)), weight, bias, buffers)

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input."""
        (weight,) = saved
        return product(grad.contiguous(), weight.t(), None, ctx.buffers), None, None, None


def _widens(weight: Tensor) -> bool:
    return len(weight) >= WIDENS * weight.shape[1]


def _narrow(x: Tensor) -> torch.dtype:
    # what autocast would have it in
    narrows = torch.is_autocast_enabled(x.device.type) and x.dtype == torch.float32
    return torch.get_autocast_dtype(x.device.type) if narrows else x.dtype


def _frozen(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    moves = weight.requires_grad or (bias is not None and bias.requires_grad)
    return torch.is_grad_enabled() and x.requires_grad and not moves and type(x) is Tensor
