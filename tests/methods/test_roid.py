"""ROID and CMF against their equations written out: weights, both losses, ensembling, filter, prior correction."""

from functools import partial

import pytest
import torch
from plain_models import (
    VIEWED,
    by_batch,
    close,
    draws,
    images,
    move,
    norm_params,
    normalise,
    same_params,
    soft_cross_entropy,
    view,
)
from torch import Tensor, nn
from toys import made

import tent
from tent.augment import random_view


class PlainROID:
    """A copy of the model, Adam on its norms, and the mean prediction."""

    def __init__(self, model: nn.Module, lr: float) -> None:
        self.model, self.source = by_batch(model), by_batch(model)
        self.optimizer, self.count, self.dropped = torch.optim.Adam(norm_params(self.model), lr=lr), 0, 0
        self.mean = torch.full((5,), 0.2, dtype=torch.float64)

    def weigh(self, p: Tensor) -> Tensor:
        diverse = 1 - (p @ self.mean) / (p.norm(dim=1) * self.mean.norm())
        sure = (p * p.log()).sum(1)
        diverse, sure = ((w - w.min()) / (w.max() - w.min()) for w in (diverse, sure))
        weights = (3 * diverse * sure).exp()
        weights[diverse < diverse.mean()] = 0
        self.mean = 0.9 * self.mean + 0.1 * p.mean(0)
        return weights

    def step(self, x: Tensor) -> Tensor:
        logits = self.model(x)
        with torch.no_grad():
            p = logits.softmax(1)
            weights = self.weigh(p)
        kept = weights != 0
        self.dropped += int((~kept).sum())
        random = draws("views 0", self.count)
        other = self.model(view(x[kept], partial(random_view, random=random, plain=True, edges="reflection")))
        held = logits[kept].softmax(1).clamp(max=0.99)
        ratio = -(held * torch.log(held / (1 - held) + 1e-5)).sum(1)
        agree = 0.5 * soft_cross_entropy(other, logits[kept]) + 0.5 * soft_cross_entropy(logits[kept], other)
        loss = ((ratio + agree) * weights[kept]).sum() / len(x)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.ensemble()
        self.count += 1
        prior = p.mean(0)
        smooth = max(1 / len(x), 1 / 5) / prior.max()
        return logits.detach() * ((prior + smooth) / (1 + 5 * smooth))

    def ensemble(self) -> None:
        move(self.model, self.source, 0.99)


class PlainCMF(PlainROID):
    """The same, with a hidden model between the copy and the source."""

    def __init__(self, model: nn.Module, lr: float, noise: float) -> None:
        super().__init__(model, lr)
        self.hidden, self.variance, self.weights = by_batch(model), 0.0, []
        self.q = noise * sum(p.numel() for p in norm_params(self.model)) / 38400

    def ensemble(self) -> None:
        move(self.hidden, self.source, 0.99)
        self.variance = 0.99**2 * self.variance + self.q
        weight = min(max((1 - self.q) / (self.variance + 1 - self.q), 0.89), 1.0)
        weight = 1.0 if weight >= 0.9999 else weight
        self.weights.append(weight)
        self.variance *= weight
        move(self.hidden, self.model, weight)
        move(self.model, self.hidden, 0.99)


@pytest.mark.parametrize("net", ["conv", "group-norm-two-heads"])
def test_roid_is_the_algorithm_written_out(net: str) -> None:
    model = made(net).double()
    adapted, plain = tent.adapt(model, tent.ROID(pixels=VIEWED), lr=0.01), PlainROID(model, 0.01)
    for x in (normalise(x) for x in images(4)):
        assert close(adapted(x), plain.step(x))
        assert same_params(adapted, plain.model)
        assert close(adapted.state.tensors["mean prediction"], plain.mean)
    assert 0 < plain.dropped < 28


@pytest.mark.parametrize(("noise", "weight"), [(0.005, 1.0), (10, 0.97), (300, 0.89)])
def test_cmf_is_the_algorithm_written_out(noise: float, weight: float) -> None:
    model = made("conv").double()
    adapted = tent.adapt(model, tent.CMF(pixels=VIEWED, noise=noise), lr=0.01)
    plain = PlainCMF(model, 0.01, noise)
    for x in (normalise(x) for x in images(4)):
        assert close(adapted(x), plain.step(x))
        assert same_params(adapted, plain.model)
    for name, param in plain.hidden.named_parameters():
        if name in adapted.state.params:
            assert close(adapted.state.tensors[f"hidden {name}"], param)
    assert float(adapted.state.tensors["variance"]) == pytest.approx(plain.variance, abs=1e-12)
    assert plain.weights[-1] == pytest.approx(weight, abs=0.01)


def test_a_reset_of_cmf_clears_its_variance_too() -> None:
    adapted = tent.adapt(made("conv"), tent.CMF())
    adapted(images(1)[0].float())
    assert adapted.state.tensors["variance"] > 0
    adapted.reset()
    assert adapted.state.tensors["variance"] == 0


@pytest.mark.parametrize("method", [tent.ROID(), tent.CMF()])
def test_a_single_image_and_equal_images_weigh_one(method: tent.ROID) -> None:
    x = images(1, size=1)[0].float()
    for batch in (x, x.repeat(3, 1, 1, 1)):
        adapted = tent.adapt(made("group-norm-two-heads"), method)
        assert adapted(batch).isfinite().all()
        assert adapted.updates == 1
        assert adapted.skipped == 0
        held = adapted.source(batch).softmax(1).clamp(max=0.99)
        other = adapted.source(random_view(batch, draws("views 0", 0), plain=True, edges="reflection"))
        logits = adapted.source(batch)
        agree = 0.5 * soft_cross_entropy(other, logits) + 0.5 * soft_cross_entropy(logits, other)
        expected = -(held * (held / (1 - held) + 1e-5).log()).sum(1) + agree
        assert adapted.state.loss == pytest.approx(float(expected.mean().detach()), abs=1e-5)


def test_their_own_choices() -> None:
    adapted = tent.adapt(made("conv"), tent.CMF.for_imagenet(noise=0.01))
    assert type(adapted.method) is tent.CMF
    assert adapted.method.noise == 0.01
    group = adapted.state.optimizer.param_groups[0]
    assert (group["lr"], group["momentum"], group["nesterov"]) == (2.5e-4, 0.9, True)
    x = images(1)[0].float()
    plain = tent.adapt(made("conv"), tent.ROID(correct_prior=False))
    assert torch.equal(plain(x), tent.adapt(made("conv"), tent.BN())(x))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tent.ROID(momentum=2), r"ROID momentum must be in \[0, 1\], got 2"),
        (lambda: tent.CMF(memory=-1), r"CMF memory must be in \[0, 1\], got -1"),
        (lambda: tent.ROID(temperature=0), "ROID temperature must be 0.01 or more, got 0"),
        (lambda: tent.adapt(made("conv"), tent.CMF(noise=2000)), "CMF noise must be above 0 and below 1.2e"),
    ],
)
def test_a_wrong_option_is_refused(make, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=said):
        make()
