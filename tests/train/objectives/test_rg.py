"""Gradient reversal: the identity forward, a gradient worked out by hand backward, and the paper's schedule."""

import math

import pytest
import torch

from tent.train.objectives.rg import reversal_weight, reverse_gradient


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_features_go_up_the_domain_loss_and_the_head_goes_down(weight):
    # features f = a x, domain score s = b f, loss (s - 1)^2; by hand, at x = 3, a = 2, b = 0.5: f = 6, s = 3,
    # d loss / d s = 4, so d loss / d b = 4 * 6 = 24, and d loss / d a = 4 * 0.5 * 3 = 6 without a reversal
    x, a, b = torch.tensor(3.0), torch.tensor(2.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    loss = (b * reverse_gradient(a * x, weight) - 1) ** 2
    loss.backward()
    assert loss.item() == 4
    assert b.grad.item() == 24
    assert a.grad.item() == pytest.approx(-weight * 6)


def test_only_the_part_behind_the_reversal_is_turned_around():
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    (5 * x.sum() + (torch.tensor([1.0, 2.0, 4.0]) * reverse_gradient(x, 0.5)).sum()).backward()
    assert x.grad.tolist() == [4.5, 4.0, 3.0]  # 5 less half of 1, 2 and 4


def test_values_pass_unchanged():
    x = torch.randn(4, 3)
    assert torch.equal(reverse_gradient(x, 0.7), x)


def test_the_weight_rises_from_nothing_to_one_as_published():
    assert reversal_weight(0) == 0
    assert reversal_weight(0.1) == pytest.approx(2 / (1 + math.e**-1) - 1)
    assert reversal_weight(0.5) == pytest.approx(0.98661, abs=1e-5)
    assert reversal_weight(1) == pytest.approx(0.99991, abs=1e-5)
    weights = [reversal_weight(step / 100) for step in range(101)]
    assert weights == sorted(weights)
