"""Random sequences of all that may be done to an adaptation: its answers and its state are those of a plain twin."""

import copy
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from toys import Photograph, logits, made
from twin import Choices, Twin

import tent

SEQUENCES, LENGTH = int(os.environ.get("TENT_SEQUENCES", "30")), 12
CLOSE = {"rtol": 1e-8, "atol": 1e-8, "equal_nan": True}


class Fuse(nn.Module):
    """Passes its input on, or fails, in the forward or in the backward pass."""

    burns = ""

    def forward(self, x: Tensor) -> Tensor:
        if Fuse.burns == "forward":
            raise KeyError("forward")
        if Fuse.burns == "backward" and x.requires_grad:
            x = x * 1
            x.register_hook(self.fail)
        return x

    def fail(self, gradient: Tensor) -> Tensor:
        raise KeyError("backward")


class Pair:
    """An adaptation and its twin, and what has been saved of both."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.draw, self.folder = random.Random(seed), folder
        self.noise = torch.Generator().manual_seed(seed)
        pick = self.draw.choice
        steps, answers = pick([(1, "before"), (1, "before"), (1, "after"), (2, "before"), (2, "after")])
        episodic = (steps, answers) != (1, "before") and self.draw.random() < 0.3
        momentum = pick([None, None, 0.0, 0.9])
        self.choices = Choices(pick([1e-3, 0.05]), steps, answers, episodic, momentum, self.draw.random() < 0.8)
        net = made(pick(["conv", "mixed", "residual"]), seed % 5)
        if isinstance(net, nn.Sequential):
            net.insert(5, Fuse())
        else:
            net.bn2 = nn.Sequential(net.bn2, Fuse())
        self.model = net.double().train(self.draw.random() < 0.5)
        self.photograph, self.lean = Photograph(self.model), self.draw.random() < 0.7
        self.adapted, self.twin = self.adapt(), Twin(self.model, self.choices)
        self.saved: list[tuple[Any, dict[str, Tensor]]] = []
        self.told: list[tent.Update] = []
        self.heard: list[int] = []  # the batches that we ought to have been told of
        self.batches = 0  # that anybody was told of
        self.end: Callable[[], None] | None = None

    def adapt(self) -> tent.Adapted:
        c = self.choices
        sgd: dict[str, Any] = {} if c.momentum is None else {"optimizer": self.sgd}
        stats = tent.norm.Batch() if c.batch_statistics else tent.norm.Source()
        more = {"steps": c.steps, "answers": c.answers, "episodic": c.episodic, "lr": c.lr, "stats": stats}
        return tent.adapt(self.model, lean=self.lean, **more, **sgd)

    def sgd(self, params: Any, lr: float) -> torch.optim.Optimizer:
        return torch.optim.SGD([param for _, param in params], lr, self.choices.momentum)

    def batch(self) -> Tensor:
        return torch.randn(self.draw.randrange(2, 9), 3, 8, 8, generator=self.noise, dtype=torch.float64) * 1.5 + 0.5

    def check(self) -> None:
        self.photograph.check()
        own, theirs = self.adapted.state_dict(), self.twin.state()
        assert own.keys() == theirs.keys()
        for name in own:
            torch.testing.assert_close(own[name], theirs[name], **CLOSE)
        assert (self.adapted.updates, self.adapted.skipped) == (self.twin.updates, self.twin.skipped)
        assert all(param.grad is None for param in self.adapted.parameters())
        assert [update.index for update in self.told] == self.heard


def call(pair: Pair) -> None:
    x = pair.batch()
    note_batch(pair)
    before = x.clone()
    torch.testing.assert_close(logits(pair.adapted(x)), pair.twin.call(x), **CLOSE)
    assert torch.equal(x, before)
    check_update(pair, skipped=False)


def note_batch(pair: Pair, watched: bool = False) -> None:
    if pair.end is not None:
        pair.heard.append(pair.batches)
    pair.batches += watched or pair.end is not None


def check_update(pair: Pair, skipped: bool) -> None:
    if pair.end is not None:
        assert pair.told[-1].skipped == skipped
        assert pair.told[-1].reset == pair.choices.episodic


def fit(pair: Pair) -> None:
    batches, epochs = [pair.batch() for _ in range(pair.draw.randrange(1, 4))], pair.draw.randrange(1, 3)
    if pair.choices.episodic:
        with pytest.raises(ValueError, match="every call resets"):
            pair.adapted.fit(batches, epochs=epochs)
        return
    pair.adapted.fit(batches, epochs=epochs)
    pair.twin.fit(batches * epochs)


def pause(pair: Pair) -> None:
    for depth in range(pair.draw.randrange(1, 3)):
        with pair.adapted.paused():
            x = pair.batch()
            if depth:
                with pair.adapted.paused():
                    pair.adapted(x)
            torch.testing.assert_close(logits(pair.adapted(x)), pair.twin.answer(x), **CLOSE)


def reset(pair: Pair) -> None:
    if pair.draw.random() < 0.5:
        with pair.adapted.paused():  # which stops learning, and nothing else
            pair.adapted.reset()
    else:
        pair.adapted.reset()
    pair.twin.load({})


def save(pair: Pair) -> None:
    kept: Any = pair.adapted.delta()
    if pair.draw.random() < 0.5:
        kept.save(path := pair.folder / f"{len(pair.saved)}.safetensors")
        kept = path
    elif pair.draw.random() < 0.5:
        kept = pair.adapted.state_dict()
    pair.saved.append((kept, pair.twin.state()))


def put(adapted: tent.Adapted, kept: Any) -> None:
    (adapted.load_state_dict if isinstance(kept, dict) else adapted.load_delta)(kept)


def load(pair: Pair) -> None:
    if pair.saved:
        kept, state = pair.draw.choice(pair.saved)
        put(pair.adapted, kept)
        pair.twin.load(state)


def load_into_another(pair: Pair) -> None:
    if pair.saved:
        kept, state = pair.draw.choice(pair.saved)
        another, twin = pair.adapt(), Twin(pair.model, pair.choices)
        put(another, kept)
        twin.load(state)
        x = pair.batch()
        torch.testing.assert_close(logits(another(x)), twin.call(x), **CLOSE)
        if pair.draw.random() < 0.3:  # and go on with the other, which nobody watches yet
            pair.adapted, pair.twin, pair.end, pair.told, pair.heard, pair.batches = another, twin, None, [], [], 0


def load_what_does_not_fit(pair: Pair) -> None:
    name, tensor = pair.draw.choice([*pair.adapted.state_dict().items()])
    wrong = pair.draw.choice([{name: tensor[:-1]}, {name: tensor * torch.nan}, {"no such name": tensor}])
    source = pair.adapted.delta().source
    with pytest.raises(ValueError, match=r"shape|not finite|not what this adaptation moves"):
        pair.adapted.load_delta(tent.Delta(wrong, source))


def call_on_a_bad_batch(pair: Pair) -> None:
    x = pair.batch()
    x[0, 0, 0, 0] = pair.draw.choice([torch.nan, torch.inf, -torch.inf])
    note_batch(pair)
    with pytest.warns(RuntimeWarning, match="NaN or Inf"):
        answer = logits(pair.adapted(x))
    torch.testing.assert_close(answer, pair.twin.call(x), **CLOSE)
    check_update(pair, skipped=True)


def fail(pair: Pair) -> None:
    Fuse.burns = pair.draw.choice(["forward", "backward"])
    try:
        with pytest.raises(KeyError, match=Fuse.burns):
            pair.adapted(pair.batch())
    finally:
        Fuse.burns = ""
    if pair.choices.episodic:
        pair.twin.load({})  # the reset comes before the batch


def watch(pair: Pair) -> None:
    if pair.end is None:
        pair.end = pair.adapted.on_update(pair.told.append)
    else:
        pair.end()
        pair.end = None


def reset_when_told(pair: Pair) -> None:
    end = pair.adapted.on_update(lambda _: pair.adapted.reset())
    x = pair.batch()
    note_batch(pair, watched=True)
    torch.testing.assert_close(logits(pair.adapted(x)), pair.twin.call(x), **CLOSE)
    end()
    pair.twin.load({})


def copy_and_go_on(pair: Pair) -> None:
    if pair.end is None:
        pair.adapted = copy.deepcopy(pair.adapted)
        pair.photograph = Photograph(pair.adapted.source)
        pair.model = pair.adapted.source


OPERATIONS = [
    *(call, call, call, fit, pause, reset, save, save, load, load, load_into_another, load_what_does_not_fit),
    *(call_on_a_bad_batch, fail, watch, reset_when_told, copy_and_go_on),
]


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_a_random_sequence_leaves_what_its_twin_has(seed: int, tmp_path: Path) -> None:
    pair = Pair(seed, tmp_path)
    for _ in range(LENGTH):
        pair.draw.choice(OPERATIONS)(pair)
        pair.check()
