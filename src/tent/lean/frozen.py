"""Convolutions and linear layers that do not move: they keep their weight, and nothing of their input."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from tent.lean.buffers import Buffers
from tent.lean.gradient import gradient
from tent.lean.layout import is_plain
from tent.lean.matrix import product
from tent.lean.origin import LayerNormLinearOutput, LayerNormOutput, LinearOutput, get_origin, set_origin

convolution_backward = torch.ops.aten.convolution_backward
WIDENS = 2  # times as many values out as in, from which on they are worth recomputing
SHARE = 3  # of so many such layers one is kept: all of them would cost more time than all else here saves


def costly_weights(model: nn.Module) -> frozenset[int]:
    """Return the addresses of those weights of a model whose products are kept rather than recomputed."""
    weights = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
    wide = [w for w in weights if type(w) is nn.Parameter and _widens(w)]
    return frozenset(weight.data_ptr() for weight in wide[::SHARE])


def convolution(axes: int) -> Any:
    """Return the convolution over so many axes."""

    def convolve(
        buffers: Buffers,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        if not _is_frozen(input, weight, bias) or isinstance(padding, str) or input.dim() != axes + 2:
            return NotImplemented
        how = [(value,) * axes if isinstance(value, int) else tuple(value) for value in (stride, padding, dilation)]
        return Convolution.apply(input, weight, bias, *how, False, (0,) * axes, groups)

    return convolve


def linear(buffers: Buffers, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """Multiply by a frozen matrix."""
    if not is_plain(input) or not input.is_contiguous() or input.dim() < 2 or weight.dim() != 2:
        return NotImplemented
    if bias is not None and bias.shape != weight.shape[:1]:
        return NotImplemented  # torch adds any bias that can be broadcast
    if not _is_frozen(input, weight, bias):
        moves = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (input, weight, bias))
        usual = not moves and _compute_type(input) == input.dtype and _are_alike(input, weight, bias)
        return product(input, weight, bias, buffers) if usual else NotImplemented
    y: Tensor = Linear.apply(input, weight, bias, buffers)
    if not _widens(weight) or weight.data_ptr() in buffers.costly:
        return y
    before, dtype = get_origin(input), _compute_type(input)
    if isinstance(before, LayerNormOutput):
        return set_origin(y, LayerNormLinearOutput(*before, weight, bias, dtype))
    return set_origin(y, LinearOutput(input.detach().to(dtype), weight, bias))


class Convolution(Function):
    """A convolution of which only the input's gradient can be asked for."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, *how: Any) -> Tensor:
        """Return what torch.convolution does."""
        ctx.save_for_backward(weight)
        ctx.how, ctx.layout = how, (x.shape, x.stride())
        dtype = _compute_type(x)
        return torch.convolution(x.to(dtype), weight.to(dtype), None if bias is None else bias.to(dtype), *how)

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input, whose values have no part in it."""
        shape, strides = ctx.layout
        placeholder = torch.empty_strided(shape, strides, dtype=grad.dtype, device=grad.device)
        weight = saved[0].to(grad.dtype)  # under autocast, what was multiplied was narrower
        dx, _, _ = convolution_backward(grad, placeholder, weight, None, *ctx.how, (True, False, False))
        return dx, *(None,) * (2 + len(ctx.how))


class Linear(Function):
    """A linear layer of which only the input's gradient can be asked for."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, buffers: Buffers) -> Tensor:
        """Return what torch's linear does."""
        ctx.save_for_backward(weight)
        ctx.buffers = buffers
        return product(x.to(_compute_type(x)), weight, bias, buffers)

    @staticmethod
    @gradient
    def backward(ctx: Any, saved: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input."""
        (weight,) = saved
        return product(grad.contiguous(), weight.t(), None, ctx.buffers), None, None, None


def _widens(weight: Tensor) -> bool:
    return len(weight) >= WIDENS * weight.shape[1]


def _compute_type(x: Tensor) -> torch.dtype:
    # what autocast would have it in
    narrows = torch.is_autocast_enabled(x.device.type) and x.dtype == torch.float32
    return torch.get_autocast_dtype(x.device.type) if narrows else x.dtype


def _is_frozen(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    moves = weight.requires_grad or (bias is not None and bias.requires_grad)
    return torch.is_grad_enabled() and x.requires_grad and not moves and is_plain(x) and _are_alike(x, weight, bias)


def _are_alike(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    # of ordinary tensors on one device, in one type unless autocast sees to that; else torch has the say
    weights = [weight] if bias is None else [weight, bias]
    if not all(type(w) in (Tensor, nn.Parameter) and w.device == x.device and w.is_floating_point() for w in weights):
        return False
    return all(w.dtype == x.dtype for w in weights) or torch.is_autocast_enabled(x.device.type)
