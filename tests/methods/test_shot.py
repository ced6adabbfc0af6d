"""SHOT-IM against its equation, written out."""

from functools import partial

import pytest
import torch
from equations import Plain, compare, entropies, lively, stream
from torch import Tensor

import tent


class PlainSHOT(Plain):
    """Liang et al. 2020, equation 3: the mean entropy less the entropy of the mean prediction."""

    def step(self, x: Tensor) -> Tensor:
        z = self(x)
        mean = z.softmax(1).mean(0)
        self.descend(entropies(z).mean() + (mean * mean.log()).sum())
        return z.detach()


@pytest.mark.parametrize("net", ["conv", "mixed"])
def test_shot_is_its_equation(net: str) -> None:
    model = lively(net)
    compare(tent.adapt(model, tent.SHOT()), PlainSHOT(model, partial(torch.optim.Adam, lr=1e-3)), stream())


def test_the_features_form_moves_all_but_the_classifier() -> None:
    model = lively("named")
    adapted = tent.adapt(model, tent.SHOT.for_features())
    plain = PlainSHOT(model, partial(torch.optim.SGD, lr=1e-3, momentum=0.9, nesterov=True, weight_decay=1e-3))
    plain.params = {name: param.requires_grad_() for name, param in plain.model.body.named_parameters("body")}
    plain.source = {name: param.detach().clone() for name, param in plain.params.items()}
    plain.reset()
    compare(adapted, plain, stream())
    assert set(dict(adapted.named_parameters())) == set(plain.params)
    assert repr(adapted.method) == "SHOT()"
