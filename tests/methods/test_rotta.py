"""RoTTA against its equations written out: the memory, its own running statistics, updates amid batches."""

import copy
import math
from functools import partial

import pytest
import torch
from plain_models import (
    VIEWED,
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


class RunningNorm(nn.BatchNorm2d):
    """A batch norm that, in train mode, moves its statistics first and normalises by what they have become."""

    def forward(self, x: Tensor) -> Tensor:
        mean, var = self.running_mean, self.running_var
        if self.training:
            mean = 0.8 * mean + 0.2 * x.mean((0, 2, 3))
            var = 0.8 * var + 0.2 * x.var((0, 2, 3), unbiased=False)
            self.running_mean, self.running_var = mean.detach(), var.detach()
        mean, scale = mean.view(1, -1, 1, 1), (var.view(1, -1, 1, 1) + self.eps).sqrt()
        return (x - mean) / scale * self.weight.view(1, -1, 1, 1) + self.bias.view(1, -1, 1, 1)


class PlainRoTTA:
    """Two copies of the model, and a list of images for each class."""

    def __init__(self, model: nn.Module, capacity: int, every: int, lr: float) -> None:
        self.student, self.teacher = copy.deepcopy(model), copy.deepcopy(model)
        for net in (self.student, self.teacher):
            for module in net.modules():
                if isinstance(module, nn.BatchNorm2d):
                    module.__class__ = RunningNorm
        self.params = norm_params(self.student)
        self.optimizer = torch.optim.SGD(self.params, lr=lr, momentum=0.9)
        self.capacity, self.every, self.seen, self.steps = capacity, every, 0, 0
        self.memory: list[list[list]] = [[] for _ in range(5)]
        self.events = dict.fromkeys(("added", "own", "other", "refused"), 0)

    def score(self, age: int, entropy: float) -> float:
        return 1 / (1 + math.exp(-age / self.capacity)) + entropy / math.log(5)

    def make_room(self, label: int, entropy: float) -> bool:
        if len(self.memory[label]) < self.capacity / 5:
            if sum(map(len, self.memory)) < self.capacity:
                self.events["added"] += 1
                return True
            most = max(map(len, self.memory))
            classes, event = [c for c in range(5) if len(self.memory[c]) == most], "other"
        else:
            classes, event = [label], "own"
        score, c, i = max((self.score(*item[1:]), c, i) for c in classes for i, item in enumerate(self.memory[c]))
        if score <= self.score(0, entropy):
            self.events["refused"] += 1
            return False
        self.events[event] += 1
        del self.memory[c][i]
        return True

    def step(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            logits = self.teacher.eval()(x)
            p = logits.softmax(1)
        for image, each in zip(x, p, strict=True):
            label, entropy = int(each.argmax()), float(-(each * torch.log(each + 1e-6)).sum())
            if self.make_room(label, entropy):
                self.memory[label].append([image, 0, entropy])
            for item in (item for items in self.memory for item in items):
                item[1] += 1
            self.seen += 1
            if self.seen % self.every == 0:
                self.update()
        self.steps += 1
        return logits

    def update(self) -> None:
        # in the order in which they came: the view's noise is drawn image by image
        items = sorted((item for items in self.memory for item in items), key=lambda item: -item[1])
        x, ages = torch.stack([item[0] for item in items]), torch.tensor([item[1] for item in items]).double()
        self.student.train(), self.teacher.train()
        for net in (self.student, self.teacher):
            [m.eval() for m in net.modules() if not isinstance(m, RunningNorm) and not list(m.children())]
        with torch.no_grad():
            target = self.teacher(x)
        random = draws(f"views 0 {self.seen}", self.steps)
        logits = self.student(view(x, partial(random_view, random=random)))
        self.optimizer.zero_grad()
        ages = ages / self.capacity
        (soft_cross_entropy(logits, target) * (-ages).exp() / (1 + (-ages).exp())).mean().backward()
        self.optimizer.step()
        move(self.teacher, self.student, 0.9)


@pytest.mark.parametrize(("net", "happens"), [("conv", ("own", "refused")), ("group-norm-two-heads", ("own", "other"))])
def test_it_is_the_algorithm_written_out(net: str, happens: tuple[str, ...]) -> None:
    model = made(net).double()
    head = model[-1] if isinstance(model, nn.Sequential) else model.classifier[-1]
    with torch.no_grad():
        head.weight *= 8  # so that entropies and, balanced by the bias, classes vary
        head.bias -= model(torch.cat([normalise(x) for x in images(9)])).mean(0)
    method = tent.RoTTA(capacity=8, every=5, momentum=0.2, nu=0.1, pixels=VIEWED)
    descent = partial(torch.optim.SGD, momentum=0.9)
    adapted, plain = tent.adapt(model, method, optimizer=descent, lr=0.02), PlainRoTTA(model, 8, 5, 0.02)
    for x in (normalise(x) for x in images(9)):
        assert close(adapted(x), plain.step(x))
        assert same_params(adapted, plain.student)
    held = [item for items in plain.memory for item in items]
    assert sorted(adapted.state.tensors["labels"].tolist()) == [c for c in range(5) for _ in plain.memory[c]]
    assert sorted((63 - adapted.state.tensors["born"]).tolist()) == sorted(item[1] for item in held)
    assert all(plain.events[event] for event in happens), plain.events
    assert adapted.state.gradients == 12


def test_an_update_comes_after_so_many_images_whatever_the_batches() -> None:
    runs = []
    for size in (1, 6):
        adapted = tent.adapt(made("conv"), tent.RoTTA(capacity=4, every=3))
        for x in torch.cat(images(1, 6)).float().split(size):
            adapted(x)
        runs.append(adapted.state.gradients)
    assert runs == [2, 2]


def test_an_answer_before_any_update_is_the_sources() -> None:
    model, x = made("conv"), images(1)[0].float()
    assert torch.allclose(tent.adapt(model, tent.RoTTA())(x), model(x), atol=1e-5)


def test_its_own_choices() -> None:
    adapted = tent.adapt(made("mixed"), tent.RoTTA())
    assert (adapted.method.capacity, adapted.method.every, adapted.method.nu) == (64, 64, 0.001)
    assert adapted.state.optimizer.param_groups[0]["lr"] == 1e-3
    assert set(adapted.state.params) == set(tent.select.norm_affine(made("mixed")))


def test_the_memory_is_saved_in_the_delta(tmp_path) -> None:
    model, stream = made("conv"), [x.float() for x in images(4, 6)]
    method = tent.RoTTA(capacity=15, every=4)
    adapted, other = tent.adapt(model, method), tent.adapt(model, method)
    for x in stream[:3]:
        adapted(x)
    adapted.delta().save(tmp_path / "delta.safetensors")
    other.load_delta(tmp_path / "delta.safetensors")
    assert other.state.tensors["images"].shape[1:] == (3, 8, 8)
    assert torch.equal(adapted(stream[3]), other(stream[3]))
    assert torch.equal(adapted.state.tensors["images"], other.state.tensors["images"])


def test_a_wrong_option_is_refused() -> None:
    with pytest.raises(ValueError, match="RoTTA capacity must be a whole number from 1 on, got 0"):
        tent.RoTTA(capacity=0)
    with pytest.raises(ValueError, match=r"RoTTA nu must be in \[0, 1\], got 3"):
        tent.RoTTA(nu=3)
