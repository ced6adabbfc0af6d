"""TTT: what its paper says, and what it chooses."""

import math
import re
from functools import partial
from pathlib import Path

import pytest
import torch
from reference import PlainTTT
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from toys import TwoHeads, alike, batches, logits, made

import tent
from tent import norm
from tent.models import RotationResNet

BATCH_NORM, GROUP_NORM = "batch-norm-two-heads", "group-norm-two-heads"


@pytest.mark.parametrize("lean", [True, False])
@pytest.mark.parametrize("net", [BATCH_NORM, GROUP_NORM, "layer-norm-two-heads"])
@pytest.mark.parametrize(
    ("method", "momentum", "steps"),
    [(tent.TTT(), 0.0, 1), (tent.TTT(seed=3), 0.9, 3), (tent.TTT(copies=5, mirror=True), 0.0, 2)],
)
def test_it_is_the_algorithm_written_out(net: str, method: tent.TTT, momentum: float, steps: int, lean: bool) -> None:
    model = made(net).double()
    optimizer = partial(torch.optim.SGD, momentum=momentum)
    adapted = tent.adapt(model, method, optimizer=optimizer, lr=0.05, steps=steps, lean=lean)
    plain = PlainTTT(model, method, 0.05, momentum, steps)
    theirs = dict(plain.model.named_parameters())
    for x in batches(6, size=5):
        assert torch.allclose(adapted(x.double()), plain.step(x.double()), rtol=0, atol=1e-9)
        for name, parameter in adapted.named_parameters():
            assert torch.allclose(parameter, theirs[name], rtol=0, atol=1e-9), name
    source = model.state_dict()
    assert all((p - source[name]).abs().max() > 1e-4 for name, p in adapted.named_parameters() if p.dim() > 1)


def test_each_image_for_itself_is_the_algorithm_written_out() -> None:
    model, method = made(GROUP_NORM).double(), tent.TTT(copies=32)
    adapted = tent.adapt(model, method, episodic=True, lr=0.1)
    for x in batches(4, size=1):
        expected = PlainTTT(model, method, 0.1).step(x.double())
        assert torch.allclose(adapted(x.double()), expected, rtol=0, atol=1e-9)
        assert not torch.allclose(expected, model(x.double()), atol=1e-4)


def test_its_own_choices() -> None:
    adapted = tent.adapt(RotationResNet(), tent.TTT())
    assert {name.split(".")[0] for name, _ in adapted.named_parameters()} == {"conv", "stage1", "stage2"}
    assert isinstance(adapted.state.optimizer, torch.optim.SGD)
    assert adapted.state.optimizer.param_groups[0]["lr"] == 1e-3
    assert adapted.stats == norm.Batch()
    assert adapted.answers == "after"
    assert repr(tent.TTT()) == "TTT(copies=1, shift=None, mirror=False, seed=0)"


@pytest.mark.parametrize("group_norm", [False, True])
def test_r26_with_a_rotation_branch_learns_and_answers(group_norm: bool) -> None:
    torch.manual_seed(0)
    model = RotationResNet(norm=partial(nn.GroupNorm, 8) if group_norm else nn.BatchNorm2d).eval()
    adapted, x = tent.adapt(model, tent.TTT()), torch.rand(4, 3, 16, 16)
    assert adapted(x).shape == (4, 10)
    assert adapted.updates == 1
    assert adapted.state.loss == pytest.approx(math.log(4), abs=1.5)
    one = tent.adapt(model, tent.TTT(copies=4), stats=norm.Prior(4), episodic=True, steps=2)
    assert one(x[:1]).shape == (1, 10)


def test_half_the_bits_are_enough() -> None:
    wide, narrow = (tent.adapt(made(BATCH_NORM), tent.TTT(), precision=p) for p in ("float32", "bfloat16"))
    for x in batches(3):
        ours, theirs = narrow(x), wide(x)
    assert ours.dtype == torch.float32
    assert torch.allclose(ours, theirs, atol=0.1)
    assert not torch.equal(ours, theirs)
    assert narrow.state.loss == pytest.approx(wide.state.loss, abs=0.05)
    half = tent.adapt(made(GROUP_NORM).bfloat16(), tent.TTT())
    assert half(batches(1)[0].bfloat16()).dtype == torch.bfloat16
    assert half.updates == 1


def test_images_come_by_position_or_by_name_and_the_head_is_the_methods() -> None:
    one, two = (tent.adapt(made(GROUP_NORM), tent.TTT(), lr=0.1) for _ in range(2))
    x = batches(1)[0]
    assert torch.equal(one(x), two(x=x, head="classes"))
    assert alike(one, two)


def test_checkpointed_blocks_run_again_as_they_ran() -> None:
    class Checkpointed(TwoHeads):
        def forward(self, x: Tensor, head: str = "classes") -> object:
            x = checkpoint(self.trunk, x, use_reentrant=False)
            return self.branch(x) if head == "rotation" else self.classifier(x)

    plain = made(BATCH_NORM)
    model = Checkpointed(plain.trunk, plain.classifier, plain.branch[1])
    model.branch = plain.branch
    one, two = (tent.adapt(m.eval(), tent.TTT(), lr=0.1, lean=False) for m in (plain, model))
    for x in batches(3):
        assert torch.allclose(one(x), two(x), atol=1e-6)


def test_a_picker_of_logits_picks_those_of_the_rotations_too() -> None:
    adapted = tent.adapt(made("maps-two-heads"), tent.TTT(), logits=logits)
    assert adapted(batches(1)[0])["out"].shape == (6, 5, 6, 6)
    assert adapted.updates == 1


def test_the_code_on_the_page_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "concepts.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "docs/concepts.md", "exec"), {"tent": tent, "model": made(GROUP_NORM)})
