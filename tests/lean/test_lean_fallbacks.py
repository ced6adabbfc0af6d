"""Where the lean path cannot be certain, torch's own functions are used."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import tent
from tent.lean import FUNCTIONS, Buffers


def lean(function: Any, *args: Any, **kwargs: Any) -> Any:
    done = FUNCTIONS[function](Buffers(), *args, **kwargs)
    return function(*args, **kwargs) if done is NotImplemented else done


SHAPES = {
    "no axis": ((7, 4), (), (5, 4)),
    "one value": ((7, 4), (1,), (5, 4)),
    "a row": ((7, 4), (1, 7), (5, 4)),
    "a column": ((7, 4), (5, 1), (5, 4)),
    "everywhere": ((7, 4), (5, 7), (5, 4)),
    "a vector": ((4,), None, (5, 4)),
}


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_linear_layers_with_unusual_weights(name: str, gradient: bool) -> None:
    weight, bias, x = (None if shape is None else torch.randn(shape) for shape in SHAPES[name])
    x = x.requires_grad_(gradient)
    found, expected = lean(F.linear, x, weight, bias), F.linear(x, weight, bias)
    torch.testing.assert_close(found, expected)
    if gradient:
        for one, other in zip(*(torch.autograd.grad(y.sin().sum(), x) for y in (found, expected)), strict=True):
            torch.testing.assert_close(one, other)


def test_linear_layers_in_another_type_are_refused_as_torch_refuses_them() -> None:
    for x in (torch.randn(5, 4), torch.randn(5, 4, requires_grad=True)):
        with pytest.raises(RuntimeError):
            lean(F.linear, x, torch.randn(7, 4, dtype=torch.float64))


def test_subclasses_of_a_weight_are_their_own_business() -> None:
    class Packed(Tensor):
        pass

    weight = torch.randn(7, 4).as_subclass(Packed)
    for x in (torch.randn(5, 4), torch.randn(5, 4, requires_grad=True)):
        assert FUNCTIONS[F.linear](Buffers(), x, weight) is NotImplemented


ONE_ARGUMENT = [F.relu, F.relu6, F.hardtanh, F.silu, F.hardswish, F.gelu]


@pytest.mark.parametrize("function", ONE_ARGUMENT, ids=lambda function: function.__name__)
def test_transforms_find_torchs_own(function: Any) -> None:
    x = torch.randn(3, 4, 8)
    torch.testing.assert_close(torch.vmap(lambda v: lean(function, v))(x), function(x))
    slope = torch.func.grad(lambda v: lean(function, v).sum())
    torch.testing.assert_close(torch.vmap(slope)(x), torch.vmap(torch.func.grad(lambda v: function(v).sum()))(x))


class Transformed(nn.Module):
    """A model that maps a part of itself over its samples."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.fc = nn.LayerNorm(8), nn.Linear(8, 32), nn.Linear(32, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(torch.vmap(lambda v: F.relu(F.gelu(self.up(self.norm(v)))))(x))


def test_a_model_that_maps_over_its_samples_is_adapted() -> None:
    model, x = Transformed().double().eval(), torch.randn(6, 3, 8, dtype=torch.float64)
    one, other = (tent.adapt(model, logits=lambda y: y[:, 0], lean=on)(x) for on in (True, False))
    torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_complex_convolutions_are_torchs_own() -> None:
    weight = torch.randn(4, 3, 3, 3, dtype=torch.complex64)
    x = torch.randn(2, 3, 8, 8, dtype=torch.complex64, requires_grad=True)
    assert FUNCTIONS[torch.conv2d](Buffers(), x, weight) is NotImplemented


def test_a_group_norm_before_which_nothing_moves_has_a_gradient_with_channels_last() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.Flatten(), nn.Linear(8 * 36, 5)).double().eval()
    x, found = torch.randn(4, 3, 8, 8, dtype=torch.float64), []
    for on in (True, False):
        adapted = tent.adapt(model, lean=on)
        found.append([adapted(x), adapted(x), *adapted.parameters()])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_the_way_around_a_crash_of_older_torch_gives_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tent.lean.group_norm.CRASHES", True)
    x = torch.randn(4, 8, 6, 6).contiguous(memory_format=torch.channels_last)
    weight, bias = torch.randn(8, requires_grad=True), torch.randn(8, requires_grad=True)
    y = FUNCTIONS[F.group_norm](Buffers(), x, 2, weight=weight, bias=bias, eps=1e-3)
    torch.testing.assert_close(y, F.group_norm(x.contiguous(), 2, weight, bias, 1e-3))
    assert y.is_contiguous(memory_format=torch.channels_last)
    assert FUNCTIONS[F.group_norm](Buffers(), x.requires_grad_(), 2, weight, bias) is NotImplemented
