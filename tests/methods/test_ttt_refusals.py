"""What TTT refuses: models without a rotation head, images that cannot be turned, options that make no sense."""

import pytest
import torch
from torch import Tensor, nn
from toys import batches, made

import tent
from tent import select
from tent.models import r26

BATCH_NORM, GROUP_NORM = "batch-norm-two-heads", "group-norm-two-heads"


@pytest.mark.parametrize("model", [r26(), made("conv"), nn.Sequential(nn.LayerNorm(4))])
@pytest.mark.parametrize("options", [{}, {"select": select.everything}])
def test_a_model_without_a_rotation_head_is_refused(model: nn.Module, options: dict) -> None:
    with pytest.raises(ValueError, match=r"has no rotation head .* tent train --method ttt --source cifar10") as caught:
        tent.adapt(model, tent.TTT(), **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shared", [(), "trunk", ("nowhere",), nn.Linear(2, 2)])
def test_a_model_that_does_not_say_what_is_shared_is_refused(shared: object) -> None:
    model = made(BATCH_NORM)
    model.shared = shared
    with pytest.raises(ValueError, match="has no rotation head"):
        tent.adapt(model, tent.TTT())
    tent.adapt(model, tent.TTT(), select=select.norm_affine)(batches(1)[0])  # the caller says it


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ((torch.rand(4, 3, 8, 6),), r"square images, \(n, c, h, h\), and was given \(4, 3, 8, 6\); crop or pad"),
        ((torch.rand(4, 3),), r"was given \(4, 3\)"),
        ((torch.rand(4, 3, 8, 8), torch.rand(4)), r"was given \(4, 3, 8, 8\) and \(4,\)"),
    ],
)
def test_what_cannot_be_turned_is_one_clear_line(inputs: tuple[Tensor, ...], said: str) -> None:
    adapted = tent.adapt(made(BATCH_NORM), tent.TTT())
    before = adapted.state_dict()
    with pytest.raises(ValueError, match=said) as caught:
        adapted(*inputs)
    assert "\n" not in str(caught.value)
    assert all(torch.equal(before[name], tensor) for name, tensor in adapted.state_dict().items())


def test_a_head_that_does_not_tell_four_turns_apart_is_refused() -> None:
    model = made(BATCH_NORM)
    model.branch[4] = nn.Linear(8 * 4 * 4, 3)
    with pytest.raises(ValueError, match=r"rotation head answers in shape \(6, 3\), not \(6, 4\)"):
        tent.adapt(model, tent.TTT())(batches(1)[0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"copies": 0}, "copies must be a whole number from 1 on, got 0"),
        ({"copies": 2.5}, "copies must be a whole number from 1 on, got 2.5"),
        ({"copies": None}, "copies must be"),
        ({"shift": -1}, "shift must be a whole number from 0 on, got -1"),
        ({"seed": -3}, "seed must be a whole number from 0 on, got -3"),
    ],
)
def test_a_wrong_option_is_refused(options: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tent.TTT(**options)


def test_one_step_for_each_image_shows_unless_the_answer_is_of_before() -> None:
    tent.adapt(made(GROUP_NORM), tent.TTT(), episodic=True)
    with pytest.raises(ValueError, match="would never show the update"):
        tent.adapt(made(GROUP_NORM), tent.TTT(), episodic=True, answers="before")
