"""CoTTA against its equations written out: teacher, views where the source is unsure, restoration."""

from functools import partial

import pytest
import torch
from plain_models import VIEWED, by_batch, close, draws, images, move, normalise, same_params, soft_cross_entropy, view
from torch import Tensor, nn
from toys import made

import tent
from tent.augment import random_view


class PlainCoTTA:
    """Three copies of the model: student, teacher and source."""

    def __init__(self, model: nn.Module, method: tent.CoTTA, lr: float) -> None:
        self.student, self.teacher, self.source = (by_batch(model) for _ in range(3))
        self.method, self.count, self.viewed, self.restored = method, 0, [], 0
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=lr, momentum=0.9)

    def teach(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            unsure = self.source(x).softmax(1).amax(1).mean() < self.method.threshold
            self.viewed.append(bool(unsure))
            if not unsure:
                return self.teacher(x)
            random = draws("views 0", self.count)
            views = [view(x, lambda pixels: random_view(pixels, random)) for _ in range(self.method.views)]
            return sum(self.teacher(each) for each in views) / len(views)

    def step(self, x: Tensor) -> Tensor:
        logits, target = self.student(x), self.teach(x)
        loss = soft_cross_entropy(logits, target)
        if self.method.symmetric:
            loss = 0.5 * loss + 0.5 * soft_cross_entropy(target, logits)
        self.optimizer.zero_grad()
        loss.mean().backward()
        self.optimizer.step()
        move(self.teacher, self.student, self.method.momentum)
        random = draws("restore 0", self.count)
        with torch.no_grad():
            for mine, first in zip(self.student.parameters(), self.source.parameters(), strict=True):
                mask = (torch.rand(mine.shape, generator=random) < self.method.restore).to(mine)
                self.restored += int(mask.sum())
                mine.copy_(mask * first + (1 - mask) * mine)
        self.count += 1
        return target


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("net", ["conv", "group-norm-two-heads"])
def test_it_is_the_algorithm_written_out(net: str, symmetric: bool) -> None:
    model, stream = made(net).double(), [normalise(x) for x in images(4)]
    sure = sorted(by_batch(model)(x).softmax(1).amax(1).mean().item() for x in stream)
    method = tent.CoTTA(3, sum(sure[1:3]) / 2, 0.9, 0.3, symmetric, VIEWED)
    # not Adam: it would blow the rounding of a gradient up that is 0, as that to a teacher that is the student still
    descent = partial(torch.optim.SGD, momentum=0.9)
    adapted, plain = tent.adapt(model, method, optimizer=descent, lr=0.1), PlainCoTTA(model, method, 0.1)
    for x in stream:
        assert close(adapted(x), plain.step(x))
        assert same_params(adapted, plain.student)
    for name, param in plain.teacher.named_parameters():
        if name in adapted.state.params:
            assert close(adapted.state.tensors[f"teacher {name}"], param), name
    assert set(plain.viewed) == {False, True}
    source = model.state_dict()
    used = {name: param for name, param in adapted.named_parameters() if not name.startswith("branch")}
    kept = sum(int((param == source[name]).sum()) for name, param in used.items())
    assert 0.2 < kept / sum(param.numel() for param in used.values()) < 0.5


def test_its_own_choices() -> None:
    adapted = tent.adapt(made("conv"), tent.CoTTA())
    assert set(dict(adapted.named_parameters())) == set(dict(made("conv").named_parameters()))
    assert adapted.state.optimizer.param_groups[0]["lr"] == 1e-3
    assert isinstance(adapted.state.optimizer, torch.optim.Adam)
    chosen = tent.CoTTA.for_imagenet(pixels=VIEWED)
    assert (chosen.threshold, chosen.restore, chosen.symmetric, chosen.pixels) == (0.1, 0.001, True, VIEWED)
    assert tent.adapt(made("conv"), chosen).state.optimizer.param_groups[0]["lr"] == 0.01
    assert tent.CoTTA.for_cifar100().threshold == 0.72
    assert repr(tent.CoTTA(4)).startswith("CoTTA(views=4, threshold=0.92, momentum=0.999, restore=0.01")


def test_the_teacher_is_the_moved_parameters_and_nothing_more() -> None:
    adapted = tent.adapt(made("conv"), tent.CoTTA(views=1), select=tent.select.norm_affine)
    adapted(images(1)[0].float())
    assert sum(t.numel() for t in adapted.state.tensors.values()) == adapted.state.size


def test_views_are_passed_through_the_model_only_where_the_source_is_unsure() -> None:
    x = images(1, size=6)[0].float()
    for threshold, passes in ((0.0, 3), (1.0, 8)):  # student, teacher, source, and five views
        adapted = tent.adapt(made("conv"), tent.CoTTA(5, threshold))
        adapted(x)
        assert adapted.state.counts.forwards == 6 * passes
        assert adapted.state.counts.backwards == 6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"views": 0}, "CoTTA views must be a whole number from 1 on, got 0"),
        ({"restore": 1.5}, r"CoTTA restore must be in \[0, 1\], got 1.5"),
        ({"momentum": -0.1}, r"CoTTA momentum must be in \[0, 1\], got -0.1"),
    ],
)
def test_a_wrong_option_is_refused(options: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tent.CoTTA(**options)
