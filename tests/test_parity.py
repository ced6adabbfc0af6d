"""Parity with the paper's algorithm: online over 20 batches, offline over 10, episodic over 5.

The lean path rounds differently, which Adam makes much of where a gradient is next to nothing: here it is compared in
float64, where nothing is left of rounding; `tests/lean` has float32.
"""

import pytest
import timm
import torch
from reference import PlainTent
from torch import Tensor, nn

import tent

MODELS = {
    "resnet10t": lambda: timm.create_model("resnet10t", num_classes=10),
    "mobilenetv3_small_050": lambda: timm.create_model("mobilenetv3_small_050", num_classes=10),
    "regnety_002": lambda: timm.create_model("regnety_002", num_classes=10),
}
PATHS = {"plain": (False, torch.float32, 1e-5), "lean": (True, torch.float64, 1e-9)}
NAMES = [pytest.param(name, marks=[pytest.mark.slow] * (name == "regnety_002")) for name in MODELS]
pytestmark = [pytest.mark.parametrize("name", NAMES), pytest.mark.parametrize("path", PATHS)]


@pytest.fixture
def model(name: str, path: str) -> nn.Module:
    torch.manual_seed(0)
    return MODELS[name]().to(PATHS[path][1]).eval()


@pytest.fixture
def stream(path: str) -> list[Tensor]:
    torch.manual_seed(1)
    return [(torch.randn(8, 3, 48, 48) * 1.3 + 0.2).to(PATHS[path][1]) for _ in range(20)]


def agree(adapted: tent.Adapted, plain: PlainTent, within: float) -> None:
    theirs = dict(plain.model.named_parameters())
    ours = dict(adapted.named_parameters())
    assert len(ours) == len(plain.params)
    for name, parameter in ours.items():
        assert torch.allclose(parameter, theirs[name], rtol=0, atol=within), name


def test_online(model: nn.Module, stream: list[Tensor], path: str) -> None:
    lean, _, within = PATHS[path]
    adapted, plain = tent.adapt(model, lean=lean), PlainTent(model)
    for x in stream:
        assert torch.allclose(adapted(x), plain.step(x), rtol=0, atol=within)
    agree(adapted, plain, within)


def test_episodic_with_several_steps(model: nn.Module, stream: list[Tensor], path: str) -> None:
    lean, _, within = PATHS[path]
    adapted, plain = tent.adapt(model, steps=3, episodic=True, lean=lean), PlainTent(model)
    for x in stream[:5]:
        plain.reset()
        theirs = [plain.step(x) for _ in range(3)][-1]
        assert torch.allclose(adapted(x), theirs, rtol=0, atol=within)
    agree(adapted, plain, within)


def test_offline(model: nn.Module, stream: list[Tensor], path: str) -> None:
    lean, _, within = PATHS[path]
    adapted, plain = tent.adapt(model, lean=lean), PlainTent(model)
    adapted.fit([(x, None) for x in stream[:10]])
    for x in stream[:10]:
        plain.step(x)
    agree(adapted, plain, within)
    with adapted.paused():
        for x in stream[:5]:
            assert torch.allclose(adapted(x), plain.infer(x), rtol=0, atol=within)
