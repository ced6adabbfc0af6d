"""Checkpoints: an adaptation that was stopped goes on as if it never had been."""

import json
import os
import stat
from functools import partial

import pytest
import torch
from safetensors import safe_open
from toys import batches, logits, made

import tent
from tent import Checkpoint, norm, select

OPTIMIZERS = {
    name: getattr(torch.optim, name)
    for name in (
        *("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adamax"),
        *("NAdam", "RAdam", "ASGD", "Rprop", "Adafactor"),
    )
    if hasattr(torch.optim, name)  # Adafactor is of torch 2.5
}
OPTIMIZERS |= {
    "momentum": partial(torch.optim.SGD, momentum=0.9, nesterov=True),
    "amsgrad": partial(torch.optim.Adam, amsgrad=True),
    "centered": partial(torch.optim.RMSprop, centered=True, momentum=0.5),
    "groups": lambda pairs: torch.optim.Adam([{"params": [p], "lr": 0.01 * (i + 1)} for i, (_, p) in enumerate(pairs)]),
}


class Prepared(tent.Method):
    """Needs source data, counts batches, and forgets what it began with."""

    needs = frozenset({"source data"})
    select = staticmethod(select.norm_affine)
    stats = norm.Running(0.2)

    def prepare(self, state: tent.State, batches) -> None:
        state.tensors["fisher"] = torch.stack([seen.logits.detach().mean() for seen in batches])

    def start(self, state: tent.State) -> None:
        state.tensors["first"] = torch.zeros(())

    def loss(self, seen: tent.ForwardPass, state: tent.State) -> torch.Tensor:
        state.tensors.pop("first", None)
        state.tensors["noise"] = torch.randn(3, 2, generator=state.generator("noise")).t()
        return tent.losses.entropy(seen.logits).mean() * state.tensors["fisher"].abs().sum()


def stopped_and_not(make, path) -> None:  # type: ignore[no-untyped-def]
    """Run five batches with and without a stop after the second, and compare every bit."""
    stream, adapted = batches(5), make()
    for x in stream[:2]:
        adapted(x)
    adapted.checkpoint().save(path)
    expected, other = [logits(adapted(x)) for x in stream[2:]], make()
    other.load_checkpoint(path)
    assert all(torch.equal(logits(other(x)), y) for x, y in zip(stream[2:], expected, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(adapted.parameters(), other.parameters(), strict=True))
    assert adapted.state.tensors.keys() == other.state.tensors.keys()
    assert json.dumps(adapted.checkpoint().about) == json.dumps(other.checkpoint().about)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_of_torch_continues(name: str, tmp_path) -> None:
    model = made("conv")
    stopped_and_not(lambda: tent.adapt(model, optimizer=OPTIMIZERS[name]), tmp_path / "c")


def test_weights_with_their_channels_last_continue_under_a_fused_optimizer(tmp_path) -> None:
    model = made("conv").to(memory_format=torch.channels_last)
    stopped_and_not(lambda: tent.adapt(model, select=select.everything, lr=0.01), tmp_path / "c")


def test_what_was_prepared_remembered_and_forgotten_continues(tmp_path) -> None:
    model, path = made("conv"), tmp_path / "c"
    stopped = tent.adapt(model, Prepared())
    stopped.prepare(batches(2, seed=3))
    stopped(batches(1)[0])
    stopped.checkpoint().save(path)
    other = tent.adapt(model, Prepared())  # what was prepared is in the checkpoint
    other.load_checkpoint(path)
    for x in batches(4)[1:]:
        assert torch.equal(stopped(x), other(x))
    assert set(other.state.tensors) == {"fisher", "noise"}
    for adapted in (stopped, other):
        adapted.reset()
    assert torch.equal(stopped(batches(1)[0]), other(batches(1)[0]))


def test_counts_a_schedule_and_episodes_continue(tmp_path) -> None:
    model = made("conv")
    adapted, other = (tent.adapt(model, episodic=True, steps=2, lr=0.01) for _ in range(2))
    adapted(batches(1)[0])
    adapted.state.optimizer.param_groups[0]["lr"] = 0.005
    other.load_checkpoint(adapted.checkpoint())
    assert other.state.counts == adapted.state.counts
    assert other.state.counts is not adapted.state.counts
    assert other.state.optimizer.param_groups[0]["lr"] == 0.005


def test_a_checkpoint_is_a_copy() -> None:
    adapted = tent.adapt(made("conv"), lr=0.01)
    adapted(batches(1)[0])
    taken = adapted.checkpoint()
    kept = {name: tensor.clone() for name, tensor in taken.tensors.items()}
    adapted(batches(1)[0])
    adapted.load_checkpoint(taken)
    adapted(batches(1)[0])
    assert all(torch.equal(kept[name], tensor) for name, tensor in taken.tensors.items())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": tent.PL()}, r"made with method Tent\(objective=entropy\), and this is PL\(threshold=0.9\)"),
        ({"stats": norm.Prior(8)}, r"made with stats Batch\(\), and this is Prior\(samples=8\)"),
        ({"lr": 0.1}, "made with optimizer Adam"),
        ({"optimizer": torch.optim.SGD}, "made with optimizer Adam"),
        ({"steps": 2}, "made with steps 1, and this is 2"),
        ({"episodic": True, "answers": "after"}, "made with answers before"),
        ({"precision": "bfloat16"}, "made with precision float32"),
        ({"select": lambda model: ["1.weight"]}, "1.bias is moved by only one"),
        ({"lean": False}, "made with optimizer Adam"),
    ],
)
def test_other_choices_are_refused_and_change_nothing(options, message: str) -> None:
    model = made("conv")
    adapted, other = tent.adapt(model), tent.adapt(model, **options)
    for x in batches(2):
        adapted(x), other(x)
    before = {name: tensor.clone() for name, tensor in other.checkpoint().tensors.items()}
    with pytest.raises(ValueError, match=message):
        other.load_checkpoint(adapted.checkpoint())
    assert all(torch.equal(before[name], tensor) for name, tensor in other.checkpoint().tensors.items())


def test_the_lean_path_goes_on_with_the_lean_path_alone() -> None:
    model = made("conv")
    lean, plain = tent.adapt(model, tent.BN()), tent.adapt(model, tent.BN(), lean=False)
    with pytest.raises(ValueError, match="lean=True"):
        plain.load_checkpoint(lean.checkpoint())
    lean.load_checkpoint(plain.checkpoint())
    assert torch.equal(lean(batches(1)[0]), plain(batches(1)[0]))


def test_another_model_is_refused() -> None:
    taken = tent.adapt(made("conv")).checkpoint()
    with pytest.raises(ValueError, match="another model"):
        tent.adapt(made("conv", seed=7)).load_checkpoint(taken)


class Odd(torch.optim.SGD):
    def __init__(self, params, inner: bool = False) -> None:  # type: ignore[no-untyped-def]
        super().__init__(params, lr=0.1)
        if inner:
            self.inner = torch.optim.SGD([p for group in self.param_groups for p in group["params"]])
        else:
            self.state["all"] = {"count": 1}


class Objects(torch.optim.SGD):
    def step(self, closure=None):  # type: ignore[no-untyped-def]
        for group in self.param_groups:
            self.state[group["params"][0]]["seen"] = {1, 2}


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        (Odd, "Odd keeps 'all' beside its parameters' state"),
        (partial(Odd, inner=True), "Odd holds another optimizer"),
        (Objects, r"optimizer:.state.0.seen is a set, which a checkpoint cannot hold"),
    ],
)
def test_an_optimizer_that_cannot_be_continued_is_said(optimizer, message: str) -> None:
    adapted = tent.adapt(made("conv"), optimizer=optimizer)
    adapted(batches(1)[0])
    with pytest.raises(ValueError, match=message):
        adapted.checkpoint()


def test_a_file_is_checked_whole(tmp_path) -> None:
    path, adapted = tmp_path / "c.safetensors", tent.adapt(made("conv"))
    adapted(batches(1)[0])
    adapted.checkpoint().save(path)
    whole = path.read_bytes()
    with safe_open(path, "pt") as file:
        assert set(file.metadata()) == {"about", "checksum", "format", "source"}
    for damaged in (
        whole[: len(whole) // 2],
        whole.replace(b'\\"updates\\": 1', b'\\"updates\\": 2'),
        whole[:-1] + bytes([whole[-1] ^ 1]),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"c\.safetensors: (damaged|not a whole)"):
            Checkpoint.load(path)
    adapted.delta().save(path)
    with pytest.raises(ValueError, match="not a checkpoint: those are written by"):
        adapted.load_checkpoint(path)
    with pytest.raises(FileNotFoundError, match="no such checkpoint"):
        adapted.load_checkpoint(tmp_path / "none")


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch) -> None:
    path, adapted = tmp_path / "c.safetensors", tent.adapt(made("conv"))
    adapted.checkpoint().save(path)
    whole = path.read_bytes()

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    adapted(batches(1)[0])
    monkeypatch.setattr("tent.files.os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        adapted.checkpoint().save(path)
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_checkpoint_is_the_same_bytes_and_as_open_as_any_file(tmp_path) -> None:
    adapted, mask = tent.adapt(made("conv")), os.umask(0o022)
    try:
        for name in "ab":
            adapted.checkpoint().save(tmp_path / name)
        adapted.delta().save(tmp_path / "delta")
    finally:
        os.umask(mask)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "b", "delta")} == {0o644}
