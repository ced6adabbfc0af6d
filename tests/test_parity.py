"""Parity with the paper's algorithm, over 20 batches, online, episodic and offline."""

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
pytestmark = pytest.mark.parametrize("name", MODELS)


@pytest.fixture
def model(name: str) -> nn.Module:
    torch.manual_seed(0)
    return MODELS[name]().eval()


@pytest.fixture
def stream() -> list[Tensor]:
    torch.manual_seed(1)
    return [torch.randn(8, 3, 48, 48) * 1.3 + 0.2 for _ in range(20)]


def agree(adapted: tent.Adapted, plain: PlainTent) -> None:
    theirs = dict(plain.model.named_parameters())
    ours = dict(adapted.named_parameters())
    assert len(ours) == len(plain.params)
    for name, parameter in ours.items():
        assert torch.allclose(parameter, theirs[name], rtol=0, atol=1e-5), name


def test_online(model: nn.Module, stream: list[Tensor]) -> None:
    adapted, plain = tent.adapt(model), PlainTent(model)
    for x in stream:
        assert torch.allclose(adapted(x), plain.step(x), rtol=0, atol=1e-5)
    agree(adapted, plain)


def test_episodic_with_several_steps(model: nn.Module, stream: list[Tensor]) -> None:
    adapted, plain = tent.adapt(model, steps=3, episodic=True), PlainTent(model)
    for x in stream:
        plain.reset()
        theirs = [plain.step(x) for _ in range(3)][-1]
        assert torch.allclose(adapted(x), theirs, rtol=0, atol=1e-5)
    agree(adapted, plain)


def test_offline(model: nn.Module, stream: list[Tensor]) -> None:
    adapted, plain = tent.adapt(model), PlainTent(model)
    adapted.fit([(x, None) for x in stream])
    for x in stream:
        plain.step(x)
    agree(adapted, plain)
    with adapted.paused():
        for x in stream[:5]:
            assert torch.allclose(adapted(x), plain.infer(x), rtol=0, atol=1e-5)
