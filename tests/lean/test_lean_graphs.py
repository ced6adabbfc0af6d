"""Random models that write in place and view their tensors in all shapes: lean against plain, in float64."""

import os

import pytest
import torch
from graphs import Graph
from torch import Tensor, nn

import tent

GRAPHS = int(os.environ.get("TENT_GRAPHS", "40"))


def outcome(model: nn.Module, x: Tensor, lean: bool) -> list[Tensor]:
    adapted = tent.adapt(model, lean=lean, optimizer=torch.optim.SGD, lr=0.1)
    return [adapted(x), adapted(x), *(param.detach() for param in adapted.parameters())]


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_lean_is_plain_on_a_random_graph(seed: int) -> None:
    model, x = Graph(seed), torch.randn(5, 3, 8, 8, dtype=torch.float64)
    expected = outcome(model, x, lean=False)
    for one, other in zip(outcome(model, x, lean=True), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)
