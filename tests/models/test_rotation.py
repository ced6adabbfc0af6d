"""The rotation branch: R-26's own answers, a second answer, and a part that both share."""

import pytest
import torch

from tent.models import RotationResNet, r26


@pytest.mark.parametrize(("last", "copied"), [("stage1", 2), ("stage2", 1), ("stage3", 0)])
def test_both_answers_share_the_first_stages_and_nothing_else(last, copied):
    model = RotationResNet(last_shared=last).eval()
    assert len(model.rotation.stages) == copied
    x = torch.rand(2, 3, 16, 16)
    assert model(x).shape == (2, 10)
    rotations = model(x, head="rotation")
    assert rotations.shape == (2, 4)
    rotations.sum().backward()
    moved = {name.split(".")[0] for name, p in model.named_parameters() if p.grad is not None}
    assert moved == {*model.shared, "rotation"}


def test_the_classifier_is_r26s_by_name_and_by_number():
    plain, model = r26(classes=7).eval(), RotationResNet(classes=7).eval()
    missing, strange = model.load_state_dict(plain.state_dict(), strict=False)
    assert not strange
    assert all(name.startswith("rotation.") for name in missing)
    x = torch.rand(2, 3, 16, 16)
    assert torch.equal(model(x), plain(x))


def test_a_branch_can_begin_at_the_classifiers_weights():
    model = RotationResNet().eval()
    for parameter in model.stage3.parameters():
        parameter.data += 1
    model.start_branch()
    ours, own = model.rotation.stages[0].state_dict(), model.stage3.state_dict()
    assert all(torch.equal(ours[name], own[name]) for name in own)
    assert next(model.rotation.stages.parameters()) is not next(model.stage3.parameters())


def test_an_unknown_stage_or_head_is_said():
    with pytest.raises(ValueError, match="last_shared 'stage4': choose from stage1, stage2, stage3"):
        RotationResNet(last_shared="stage4")
    with pytest.raises(ValueError, match="head 'jigsaw': choose classes or rotation"):
        RotationResNet()(torch.rand(1, 3, 8, 8), head="jigsaw")
