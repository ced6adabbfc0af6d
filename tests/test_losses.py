import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tent.losses import (
    certainty_weight,
    confidence,
    entropy,
    entropy_margin,
    information_maximisation,
    pseudo_label,
    similarity,
)

LOSSES = [entropy, pseudo_label, information_maximisation]


def test_entropy_by_hand() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3]]))
    assert entropy(logits).tolist() == pytest.approx([1.5 * math.log(2), math.log(3)], rel=1e-6)


def test_pseudo_label_by_hand() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25]]))
    assert pseudo_label(logits).item() == pytest.approx(math.log(2), rel=1e-6)
    assert confidence(logits).item() == pytest.approx(0.5, rel=1e-6)


def test_information_maximisation_is_entropy_less_the_entropy_of_the_mean() -> None:
    logits = torch.randn(6, 4, 3)
    p = logits.softmax(1)
    mean = p.mean((0, 2))
    expected = entropy(logits).mean() + (mean * mean.log()).sum()
    assert torch.allclose(information_maximisation(logits).mean(), expected, atol=1e-6)


def test_certainty_and_similarity_by_hand() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25], [0.98, 0.01, 0.01]])).requires_grad_()
    margin = entropy_margin(logits, 0.4)
    assert margin == pytest.approx(0.4 * math.log(3))
    weights, alike = certainty_weight(entropy(logits), margin), similarity(logits, torch.tensor([0.0, 1.0, 0.0]))
    assert weights[0].item() == pytest.approx(math.exp(margin) / 2**1.5)
    assert alike[0].item() == pytest.approx(0.25 / math.sqrt(0.375))
    assert not weights.requires_grad
    assert not alike.requires_grad
    maps = logits.detach().T[None, :, None]  # (1, classes, 1, 2)
    assert torch.equal(similarity(maps, torch.tensor([0.0, 1.0, 0.0])).flatten(), alike)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 2), (2, 5, 4, 3)])
def test_one_value_a_prediction(loss, shape) -> None:
    assert loss(torch.randn(shape)).shape == (shape[0], *shape[2:])


@pytest.mark.parametrize("loss", [entropy, information_maximisation])
def test_a_class_that_is_ruled_out_adds_nothing(loss) -> None:
    logits = torch.tensor([[1.0, 2.0, -math.inf], [0.5, 0.1, -math.inf]], requires_grad=True)
    value = loss(logits)
    assert torch.allclose(value, loss(logits[:, :2]), atol=1e-6)
    value.sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(loss, dtype) -> None:
    logits = torch.randn(4, 5).to(dtype)
    assert loss(logits).dtype == torch.float32
    assert torch.equal(loss(logits), loss(logits.float()))


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6), st.floats(-20, 20))
def test_entropy_is_bounded_and_does_not_see_a_shift(values: list[float], shift: float) -> None:
    logits = torch.tensor([values], dtype=torch.float64)
    value = entropy(logits).item()
    assert -1e-12 <= value <= math.log(len(values)) + 1e-12
    assert entropy(logits + shift).item() == pytest.approx(value, abs=1e-9)
