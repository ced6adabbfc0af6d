"""Every function of the lean path against torch's own: values, gradients, and the bytes that are kept."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tent.doctor.memory import saved_bytes
from tent.lean import FUNCTIONS, Buffers
from tent.lean.batch_norm import batch_norm, fixed
from tent.lean.origin import get_origin
from tent.lean.sums import gradient_sums, moments

LAYOUTS = (torch.contiguous_format, torch.channels_last)
pytestmark = pytest.mark.parametrize("layout", LAYOUTS, ids=["contiguous", "channels last"])


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def images(layout: torch.memory_format, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*(shape or (6, 8, 12, 12)), dtype=dtype).contiguous(memory_format=layout)


def lean(function: Any, *args: Any, **kwargs: Any) -> Any:
    done = FUNCTIONS[function](Buffers(), *args, **kwargs)
    return function(*args, **kwargs) if done is NotImplemented else done


def same(ours: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor], x: Tensor) -> None:
    """Hold values and gradients of two functions to each other, also where the gradient's strides are unusual."""
    found = []
    for function in (ours, theirs):
        start = x.clone().requires_grad_()
        y = function(start * 1)
        weigh = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape)
        found.append((y.detach().clone(), *torch.autograd.grad((y * weigh).sum() + y.mean(), start)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


ACTIVATIONS = {
    "relu": (F.relu, {}),
    "relu in place": (F.relu, {"inplace": True}),
    "relu6": (F.relu6, {}),
    "hardtanh": (F.hardtanh, {}),
    "hardtanh in place": (F.hardtanh, {"min_val": -0.5, "max_val": 2.0, "inplace": True}),
    "silu": (F.silu, {}),
    "silu in place": (F.silu, {"inplace": True}),
    "hardswish": (F.hardswish, {}),
    "gelu": (F.gelu, {}),
    "gelu by tanh": (F.gelu, {"approximate": "tanh"}),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("normalised", [False, True])
def test_activations(layout: torch.memory_format, name: str, normalised: bool) -> None:
    function, how = ACTIVATIONS[name]
    weight, bias = torch.rand(8, dtype=torch.float64) + 0.5, torch.randn(8, dtype=torch.float64)

    def ours(x: Tensor) -> Tensor:
        x = batch_norm(Buffers(), x, weight, bias, 1e-5) if normalised else x
        assert (get_origin(x) is not None) == normalised
        return lean(function, x, **how)

    def theirs(x: Tensor) -> Tensor:
        x = F.batch_norm(x, None, None, weight, bias, True) if normalised else x
        return function(x, **how)

    same(ours, theirs, images(layout) * 4)
    with torch.no_grad():
        x = images(layout)
        torch.testing.assert_close(lean(function, x.clone(), **how), function(x.clone(), **how))


def test_an_activation_of_what_was_written_to_since_is_right_too(layout: torch.memory_format) -> None:
    def ours(x: Tensor) -> Tensor:
        y = batch_norm(Buffers(), x, None, None, 1e-5)
        y.add_(1)  # it is not what the batch norm made any more
        assert get_origin(y) is None
        return lean(F.silu, y)

    same(ours, lambda x: F.silu(F.batch_norm(x, None, None, None, None, True) + 1), images(layout))


@pytest.mark.parametrize("affine", ["both", "weight", "none"])
def test_batch_norm(layout: torch.memory_format, affine: str) -> None:
    weight = torch.rand(8, dtype=torch.float64).requires_grad_() if affine != "none" else None
    bias = torch.randn(8, dtype=torch.float64).requires_grad_() if affine == "both" else None
    moving = [p for p in (weight, bias) if p is not None]
    x, buffers = images(layout), Buffers()
    same(
        lambda x: batch_norm(buffers, x, weight, bias, 1e-3),
        lambda x: F.batch_norm(x, None, None, weight, bias, True, 0, 1e-3),
        x,
    )
    if moving:
        grads = [
            torch.autograd.grad(F.silu(y).sum(), moving)
            for y in (
                batch_norm(buffers, x, weight, bias, 1e-3),
                F.batch_norm(x, None, None, weight, bias, True, 0, 1e-3),
            )
        ]
        for one, other in zip(*grads, strict=True):
            torch.testing.assert_close(one, other)


def test_batch_norm_by_given_statistics(layout: torch.memory_format) -> None:
    x, mean, var = images(layout), torch.randn(8).double(), torch.rand(8).double() + 0.1
    torch.testing.assert_close(fixed(Buffers(), x, mean, var, None, None, 1e-5), F.batch_norm(x, mean, var))
    assert fixed(Buffers(), x.requires_grad_(), mean, var, None, None, 1e-5) is NotImplemented


@pytest.mark.parametrize("shape", [(128, 16, 32, 32), (16, 256, 14, 14), (3, 5, 7, 9), (2, 3, 1, 1)])
def test_sums_are_as_exact_as_float64s(layout: torch.memory_format, shape: tuple[int, ...]) -> None:
    x = images(layout, *shape, dtype=torch.float32) + 3
    grad = images(layout, *shape, dtype=torch.float32)
    wide = x.double()
    mean, var = wide.mean((0, 2, 3)), wide.var((0, 2, 3), correction=0)
    ours = moments(x)
    torch.testing.assert_close(ours[0].double(), mean, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(ours[1].double(), var, rtol=3e-6, atol=1e-6)
    inverse = torch.rsqrt(ours[1] + 1e-5)
    normal = (wide - ours[0].view(1, -1, 1, 1)) * inverse.view(1, -1, 1, 1)
    first, second = gradient_sums(grad, x, ours[0], inverse)
    size = (x.numel() // shape[1]) ** 0.5
    torch.testing.assert_close(first.double(), (normal * grad).sum((0, 2, 3)), rtol=1e-5, atol=1e-5 * size)
    torch.testing.assert_close(second.double(), grad.double().sum((0, 2, 3)), rtol=1e-5, atol=1e-5 * size)


CONVOLUTIONS = {
    "3x3": (nn.Conv2d(8, 6, 3, padding=1), F.conv2d),
    "1x1, stride 2": (nn.Conv2d(8, 6, 1, stride=2, bias=False), F.conv2d),
    "depthwise": (nn.Conv2d(8, 8, 5, padding=2, groups=8), F.conv2d),
    "dilated": (nn.Conv2d(8, 4, (3, 1), padding=(2, 0), dilation=(2, 1)), F.conv2d),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_frozen_convolutions(layout: torch.memory_format, name: str) -> None:
    conv = CONVOLUTIONS[name][0].double().requires_grad_(False)
    how = (conv.stride, conv.padding, conv.dilation, conv.groups)
    same(lambda x: lean(torch.conv2d, x, conv.weight, conv.bias, *how), conv, images(layout))
    x = images(layout).requires_grad_()
    with saved_bytes([x, *conv.parameters()]) as count:
        lean(torch.conv2d, x * 1, conv.weight, conv.bias, *how)
    assert count.bytes == 0


def test_a_convolution_that_moves_is_torchs_own(layout: torch.memory_format) -> None:
    weight = torch.randn(4, 8, 3, 3, dtype=torch.float64, requires_grad=True)
    assert FUNCTIONS[torch.conv2d](Buffers(), images(layout).requires_grad_(), weight) is NotImplemented


@pytest.mark.parametrize("wide", [4, 40])
def test_frozen_linear_layers_and_the_gelu_behind_them(layout: torch.memory_format, wide: int) -> None:
    weight, bias = torch.randn(wide, 8, dtype=torch.float64), torch.randn(wide, dtype=torch.float64)
    rows = torch.randn(5, 7, 8, dtype=torch.float64)
    for function in (lambda y: y, lambda y: lean(F.gelu, y)):
        same(
            lambda x, after=function: after(lean(F.linear, x, weight, bias)),
            lambda x, after=function: (F.gelu if after(torch.ones(1))[0] != 1 else nn.Identity())(
                F.linear(x, weight, bias)
            ),
            rows,
        )


def normalised(x: Tensor, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Return a layer norm of x, as the lean path has it, and the scale and shift that move."""
    scale, shift = torch.linspace(0.5, 1.5, 8, dtype=dtype), torch.linspace(-1, 1, 8, dtype=dtype)
    return lean(F.layer_norm, x, (8,), scale.requires_grad_(), shift.requires_grad_(), 1e-3), scale, shift


@pytest.mark.parametrize("wide", [4, 40])
def test_a_layer_norm_the_linear_layer_behind_it_and_the_gelu(layout: torch.memory_format, wide: int) -> None:
    weight, bias = torch.randn(wide, 8, dtype=torch.float64), torch.randn(wide, dtype=torch.float64)
    x = torch.randn(5, 7, 8, dtype=torch.float64).requires_grad_()
    y, scale, shift = normalised(x)
    ours = torch.autograd.grad(lean(F.gelu, lean(F.linear, y, weight, bias)).sin().sum(), (x, scale, shift))
    y = F.layer_norm(x, (8,), scale, shift, 1e-3)
    theirs = torch.autograd.grad(F.gelu(F.linear(y, weight, bias)).sin().sum(), (x, scale, shift))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_behind_a_layer_norm_nothing_more_is_kept_unless_the_product_is_costly(layout: torch.memory_format) -> None:
    x, weight = torch.randn(16, 8, dtype=torch.float32).requires_grad_(), torch.randn(32, 8)
    for costly, more in ((frozenset[int](), 0), (frozenset({weight.data_ptr()}), 16 * 32)):
        with saved_bytes([weight]) as count:
            y, *_ = normalised(x * 1, torch.float32)
            buffers = Buffers(costly)
            y = FUNCTIONS[F.linear](buffers, y, weight)
            z = FUNCTIONS[F.gelu](buffers, y)
            z = F.gelu(y) if z is NotImplemented else z
        # the norm keeps its input, a mean and a deviation a row, its scale and its shift
        assert count.bytes == 4 * (16 * 8 + 2 * 16 + 2 * 8 + more)
        assert z.requires_grad


def test_a_layer_norm_without_a_scale_is_torchs_own(layout: torch.memory_format) -> None:
    assert FUNCTIONS[F.layer_norm](Buffers(), torch.randn(4, 8).requires_grad_(), (8,)) is NotImplemented


POOLS = {
    "3, stride 2": {"kernel_size": 3, "stride": 2, "padding": 1},
    "2": {"kernel_size": 2},
    "odd": {"kernel_size": (3, 2), "stride": (1, 2), "padding": (1, 0), "dilation": (2, 1), "ceil_mode": True},
}


@pytest.mark.parametrize("name", POOLS)
def test_max_pooling(layout: torch.memory_format, name: str) -> None:
    how = POOLS[name]
    x = images(layout)
    same(lambda x: lean(F.max_pool2d, x, **how), lambda x: F.max_pool2d(x, **how), x)
    with saved_bytes() as count:
        y = lean(F.max_pool2d, x.clone().requires_grad_() * 1, **how)
    assert count.bytes == y.numel()  # a byte a maximum


@pytest.mark.parametrize("how", [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}])
def test_average_pooling(layout: torch.memory_format, how: dict[str, Any]) -> None:
    same(lambda x: lean(F.avg_pool2d, x, **how), lambda x: F.avg_pool2d(x, **how), images(layout))


@pytest.fixture
def saved_by(layout: torch.memory_format) -> Callable[[Callable[[Tensor], Tensor]], int]:
    x = images(layout, 4, 8, 16, 16, dtype=torch.float32).requires_grad_()

    def count_of(function: Callable[[Tensor], Tensor]) -> int:
        with saved_bytes() as count:
            y = function(x * 1)
        assert y.requires_grad
        return count.bytes

    return count_of


def test_what_is_kept_can_be_added_up_by_hand(saved_by: Callable[[Callable[[Tensor], Tensor]], int]) -> None:
    values, channels = 4 * 8 * 16 * 16, 8
    assert saved_by(lambda x: lean(F.relu, x)) == values // 8  # a bit a value
    # a batch norm keeps its input, its mean and its deviation; the relu behind it, a scale and a shift
    assert saved_by(lambda x: batch_norm(Buffers(), x, None, None, 1e-5)) == 4 * (values + 2 * channels)
    both = saved_by(lambda x: lean(F.relu, batch_norm(Buffers(), x, torch.ones(8), None, 1e-5)))
    assert both == 4 * (values + (1 + 2 + 2) * channels)
