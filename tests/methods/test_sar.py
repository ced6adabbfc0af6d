"""SAR against its equations, written out: two filters, the step up, the recovery."""

import math
from functools import partial

import pytest
import torch
from equations import Plain, compare, entropies, lively, stream
from torch import Tensor, nn
from toys import batches, made

import tent


class PlainSAR(Plain):
    """Niu et al. 2023, equations 1 to 5 and the recovery."""

    def __init__(self, model: nn.Module, make, margin: float, recovery: float, radius: float) -> None:  # type: ignore[no-untyped-def]
        super().__init__(model, make)
        self.margin, self.recovery, self.radius = margin * math.log(5), recovery, radius
        self.average, self.kept, self.resets = None, [], 0

    def step(self, x: Tensor) -> Tensor:
        z = self(x)
        h = entropies(z)
        first = [i for i, value in enumerate(h.tolist()) if value < self.margin]
        if not first:
            self.kept.append((0, 0))
            return z.detach()
        h[first].mean().backward()
        moving = {name: param for name, param in self.params.items() if param.grad is not None}
        length = math.sqrt(sum(float((param.grad**2).sum()) for param in moving.values()))
        before = {name: param.detach().clone() for name, param in moving.items()}
        with torch.no_grad():
            for param in moving.values():
                param += self.radius * param.grad / (length + 1e-12)
        self.optimizer.zero_grad()
        again = entropies(self(x))
        second = [i for i in first if again[i].detach() < self.margin]
        self.kept.append((len(first), len(second)))
        if second:
            loss = again[second].mean()
            loss.backward()
        with torch.no_grad():
            for name, param in moving.items():
                param.copy_(before[name])
        if second:
            self.optimizer.step()
            self.recover(float(loss.detach()))
        self.optimizer.zero_grad()
        return z.detach()

    def recover(self, loss: float) -> None:
        self.average = loss if self.average is None else 0.9 * self.average + 0.1 * loss
        if self.average < self.recovery:
            self.reset()
            self.average, self.resets = None, self.resets + 1


@pytest.mark.parametrize("net", ["conv", "group-norm-two-heads", "mixed"])
def test_sar_is_its_equations(net: str) -> None:
    model, options = lively(net), {"margin": 0.6, "recovery": 0.0, "radius": 0.4}
    adapted = tent.adapt(model, tent.SAR(**options), lr=0.02)
    plain = PlainSAR(model, partial(torch.optim.Adam, lr=0.02), **options)
    compare(adapted, plain, stream(5))
    assert math.isclose(adapted.state.tensors["mean loss"].item(), plain.average, rel_tol=1e-9)
    assert any(0 < second < (first if net == "conv" else 12) for first, second in plain.kept)  # the filters drop some


def test_sar_recovers_once_its_average_falls_and_starts_the_average_anew() -> None:
    model, options = lively("group-norm-two-heads"), {"margin": 0.6, "recovery": 0.56, "radius": 0.05}
    adapted = tent.adapt(model, tent.SAR(**options), lr=0.05)
    plain = PlainSAR(model, partial(torch.optim.Adam, lr=0.05), **options)
    resets = []
    for x in stream(12):
        assert torch.allclose(adapted(x), plain.step(x), rtol=0, atol=1e-9)
        assert ("mean loss" in adapted.state.tensors) == (plain.average is not None)
        resets.append(adapted.state.counts.resets)
    assert resets[-1] == plain.resets
    assert 0 < resets[-1] < len(resets) / 2  # and not on every batch from the first reset on


def test_nothing_certain_is_no_update() -> None:
    adapted = tent.adapt(made("conv"), tent.SAR(margin=0.1))
    adapted(batches(1)[0])
    assert (adapted.updates, adapted.state.counts.backwards, adapted.state.counts.forwards) == (0, 0, 6)


def test_what_is_certain_here_and_not_there_is_no_update_either() -> None:
    model = lively("group-norm-two-heads")
    adapted = tent.adapt(model, tent.SAR(margin=0.3, radius=20.0))
    plain = PlainSAR(model, torch.optim.Adam, margin=0.3, recovery=0.2, radius=20.0)
    for x in stream(3):
        assert torch.allclose(adapted(x), plain.step(x), rtol=0, atol=1e-9)
    assert any(first and not second for first, second in plain.kept)


def test_the_settings_of_the_paper() -> None:
    rates = {(False, 64): 2.5e-4, (False, 16): 1.25e-4, (False, 1): 2.5e-4 / 16, (True, 64): 1e-3, (True, 1): 2e-3 / 64}
    for (vit, batch), rate in rates.items():
        for kind in (tent.SAR, tent.DeYO):
            group = tent.adapt(made("conv"), kind.for_imagenet(vit, batch)).state.optimizer.param_groups[0]
            assert math.isclose(group["lr"], rate)
            assert group["momentum"] == 0.9
    assert repr(tent.SAR()) == "SAR(margin=0.4, radius=0.05, recovery=0.2, momentum=0.9)"
