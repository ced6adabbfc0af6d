"""ETA and EATA against their equations, written out."""

import math
from functools import partial

import pytest
import torch
from equations import Plain, compare, entropies, lively, stream
from torch import Tensor, nn
from toys import batches, logits, made

import tent

ADAM = partial(torch.optim.Adam, lr=1e-3)
OPTIONS = {"margin": 0.7, "redundancy": 0.8}


class PlainETA(Plain):
    """Niu et al. 2022, equations 2 to 6, prediction by prediction."""

    def __init__(self, model: nn.Module, make=ADAM, margin: float = 0.7, redundancy: float = 0.8) -> None:  # type: ignore[no-untyped-def]
        super().__init__(model, make)
        self.margin, self.redundancy, self.mean, self.counts = margin * math.log(5), redundancy, None, []

    def step(self, x: Tensor) -> Tensor:
        z = self(x)
        p, h = z.softmax(1), entropies(z)
        sure = [i for i in range(len(x)) if h[i].detach() < self.margin]
        kept = [i for i in sure if self.mean is None or abs(cosine(p[i], self.mean)) < self.redundancy]
        self.counts.append((len(x), len(sure), len(kept)))
        if kept:
            new = torch.stack([p[i].detach() for i in kept]).mean(0)
            self.mean = new if self.mean is None else 0.9 * self.mean + 0.1 * new
            terms = [h[i] / torch.exp(h[i].detach() - self.margin) for i in kept]
            self.descend(torch.stack(terms).mean() + self.pull())
        return z.detach()

    def pull(self) -> Tensor | float:
        return 0.0


class PlainEATA(PlainETA):
    """ETA and equation 8, with the Fisher information of equation 9."""

    def __init__(self, model: nn.Module, source: list[Tensor], alpha: float) -> None:
        super().__init__(model)
        self.alpha, self.fisher = alpha, {name: torch.zeros_like(param) for name, param in self.params.items()}
        for x in source:
            z = self(x)
            nn.CrossEntropyLoss()(z, z.argmax(1)).backward()
            for name, param in self.params.items():
                self.fisher[name] += param.grad**2 / len(source) if param.grad is not None else 0
                param.grad = None

    def pull(self) -> Tensor | float:
        terms = [(f * (self.params[n] - self.source[n]) ** 2).sum() for n, f in self.fisher.items()]
        return self.alpha * sum(terms)


def cosine(a: Tensor, b: Tensor) -> float:
    return float(((a * b).sum() / (a.norm() * b.norm())).detach())


@pytest.mark.parametrize("net", ["conv", "group-norm-two-heads"])
def test_eta_is_its_equations(net: str) -> None:
    model = lively(net)
    adapted, plain = tent.adapt(model, tent.ETA(**OPTIONS)), PlainETA(model)
    compare(adapted, plain, stream())
    assert torch.allclose(adapted.state.tensors["mean prediction"], plain.mean, rtol=0, atol=1e-9)
    assert all(kept > 0 for _, _, kept in plain.counts)
    assert any(sure < all_ for all_, sure, _ in plain.counts)  # both filters drop some
    assert any(kept < sure for _, sure, kept in plain.counts)


def test_eta_as_on_imagenet_is_its_equations() -> None:
    model, method = lively("conv"), tent.ETA.for_imagenet()
    plain = PlainETA(model, partial(torch.optim.SGD, lr=2.5e-4, momentum=0.9), 0.4, 0.05)
    compare(tent.adapt(model, method), plain, stream(5, 24))
    assert sum(kept > 0 for _, _, kept in plain.counts) >= 1
    assert any(kept == 0 for _, _, kept in plain.counts)  # and then nothing moves


@pytest.mark.parametrize("alpha", [1.0, 5e4])
def test_eata_is_its_equations(alpha: float) -> None:
    model, source = lively("conv"), [x.double() / 2 for x in batches(3, 8, seed=7)]
    adapted = tent.adapt(model, tent.EATA(**OPTIONS, alpha=alpha)).prepare(source)
    plain = PlainEATA(model, source, alpha)
    compare(adapted, plain, stream())
    assert any(kept < sure < all_ for all_, sure, kept in plain.counts)
    for name, fisher in plain.fisher.items():
        assert torch.allclose(adapted.state.tensors[f"importance {name}"], fisher, rtol=1e-9)


def test_eata_stays_nearer_to_the_source_than_eta() -> None:
    model, source = lively("conv"), stream(2)

    def distance(method: tent.Method) -> float:
        adapted = tent.adapt(model, method).prepare(source)
        for x in stream(6):
            adapted(x)
        changes = [(p - model.state_dict()[name]).square().sum() for name, p in adapted.named_parameters()]
        return float(torch.stack(changes).detach().sum())

    assert distance(tent.EATA(**OPTIONS, alpha=1e4)) < distance(tent.ETA(**OPTIONS)) / 2


def test_nothing_certain_is_no_update_and_no_backward() -> None:
    adapted = tent.adapt(made("conv"), tent.ETA(margin=0.1))
    adapted(batches(1)[0])
    assert (adapted.updates, adapted.state.counts.backwards, adapted.state.tensors) == (0, 0, {})
    assert adapted.state.counts.forwards == 6


@pytest.mark.parametrize(("net", "whole"), [("conv", True), ("named", True), ("group-norm-two-heads", False)])
def test_what_is_not_kept_is_not_gone_back_through_where_samples_are_apart(net: str, whole: bool) -> None:
    model, x = lively(net), stream(1)[0]
    eta, sar = (tent.adapt(model, kind(margin=0.55)) for kind in (tent.ETA, tent.SAR))
    eta(x)
    sar(x)
    kept = int((entropies(logits(tent.adapt(model, tent.BN())(x) if whole else model(x))) < 0.55 * math.log(5)).sum())
    assert 0 < kept < 6
    assert eta.state.counts.backwards == (12 if whole else kept)
    assert eta.state.counts.forwards == (12 if whole else 12 + kept)
    assert sar.state.counts.backwards == (24 if whole else 12 + kept)


def test_what_the_source_said_survives_a_reset_and_what_the_stream_said_does_not() -> None:
    adapted = tent.adapt(made("conv"), tent.EATA(margin=1.0)).prepare(batches(1))
    adapted(batches(1)[0])
    adapted.reset()
    assert set(adapted.state.tensors) == {f"importance {name}" for name in adapted.state.params}


def test_eata_needs_source_images() -> None:
    adapted = tent.adapt(made("conv"), tent.EATA())
    with pytest.raises(ValueError, match=r"EATA needs source data: call adapted.prepare\(batches\) first") as caught:
        adapted(batches(1)[0])
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="prepare was given no batches"):
        adapted.prepare([])


def test_the_settings_of_the_paper() -> None:
    assert repr(tent.ETA()) == "ETA(margin=0.4, redundancy=0.4, momentum=0.9)"
    assert repr(tent.EATA.for_cifar100()) == "EATA(margin=0.4, redundancy=0.1, momentum=0.9, alpha=1.0)"
    method = tent.EATA.for_imagenet()
    assert (method.redundancy, method.alpha) == (0.05, 2000.0)
    group = tent.adapt(made("conv"), method).state.optimizer.param_groups[0]
    assert (group["lr"], group["momentum"]) == (2.5e-4, 0.9)
    assert tent.adapt(made("conv"), method, lr=1.0).state.optimizer.param_groups[0]["lr"] == 1.0
