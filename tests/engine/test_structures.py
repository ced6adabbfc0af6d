from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn
from transformers.modeling_outputs import ImageClassifierOutput, TokenClassifierOutput

import tent
from tent import ForwardPass
from tent.engine.structures import (
    all_finite,
    batch_inputs,
    call_inputs,
    detach_inputs,
    detach_output,
    find_logits,
    is_empty,
    list_tensors,
)

Pair = namedtuple("Pair", "logits extra")


@dataclass(frozen=True)
class Boxed:
    logits: Tensor
    name: str = "x"


def z() -> Tensor:
    return (torch.randn(4, 3, requires_grad=True) * 1.0).clone()


SHAPES = {
    "tensor": z,
    "tuple": lambda: (z(), [z(), None]),
    "namedtuple": lambda: Pair(z(), "kept"),
    "list": lambda: [z(), 3],
    "dict": lambda: {"logits": z(), "deep": {"more": (z(),)}},
    "ordered": lambda: OrderedDict(out=z(), aux=z()),
    "model-output": lambda: ImageClassifierOutput(logits=z(), hidden_states=(z(), z())),
    "dataclass": lambda: Boxed(z()),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_tensor_comes_back_detached_in_its_own_type(shape: str) -> None:
    output = SHAPES[shape]()
    answer = detach_output(output)
    assert type(answer) is type(output)
    assert len(list_tensors(answer)) == len(list_tensors(output)) > 0
    for ours, theirs in zip(list_tensors(answer), list_tensors(output), strict=True):
        assert theirs.requires_grad
        assert not ours.requires_grad
        assert torch.equal(ours, theirs)
    assert find_logits(output, ((), {})).shape == (4, 3)


def test_a_model_output_keeps_both_its_faces() -> None:
    answer = detach_output(SHAPES["model-output"]())
    assert answer["logits"] is answer.logits
    assert not answer.logits.requires_grad


def test_logits_as_an_attribute() -> None:
    assert find_logits(SimpleNamespace(logits=torch.zeros(2, 3)), ((), {})).shape == (2, 3)


@pytest.mark.parametrize(
    ("output", "seen"),
    [
        ({"loss": torch.zeros(2)}, "a dict with the keys loss"),
        ((), "a tuple"),
        (3, "a int"),
        (torch.zeros(3), "shape \\(3,\\)"),
        (torch.zeros(3, 2, dtype=torch.int64), "int64 tensor"),
    ],
)
def test_an_output_without_logits_is_described(output: object, seen: str) -> None:
    with pytest.raises(ValueError, match=f"no logits found in .*{seen}.*logits=lambda"):
        find_logits(output, ((), {}))


def test_tokens_have_their_classes_last_and_padding_is_no_prediction() -> None:
    output = TokenClassifierOutput(logits=torch.randn(2, 5, 3))
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    assert find_logits(output, ((), {})).shape == (2, 3, 5)
    assert torch.equal(find_logits(output, ((), {"attention_mask": mask})), output.logits[mask == 1])
    assert find_logits(torch.randn(2, 5, 3), ((), {"attention_mask": mask})).shape == (2, 5, 3)


def test_one_class_is_refused_with_the_way_out() -> None:
    net = nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 1))
    with pytest.raises(ValueError, match=r"one class.*torch.cat"):
        tent.adapt(net)(torch.randn(3, 4))
    adapted = tent.adapt(net, logits=lambda z: torch.cat([torch.zeros_like(z), z], 1))
    assert adapted(torch.randn(3, 4)).shape == (3, 1)
    assert adapted.updates == 1


def test_methods_without_a_loss_need_no_logits() -> None:
    class Embeds(nn.Module):
        def forward(self, x: Tensor) -> str:
            return "no tensor at all"

    assert tent.adapt(Embeds(), tent.Source())(torch.zeros(1)) == "no tensor at all"


def test_inputs_lose_their_history() -> None:
    with torch.inference_mode():
        born = torch.zeros(2)
    args, kwargs = detach_inputs(((torch.zeros(2, requires_grad=True), [born]), {"x": born, "n": 3}))
    assert not args[0].requires_grad
    assert not args[1][0].is_inference()
    assert kwargs["n"] == 3


def test_masks_may_hold_infinities() -> None:
    bad = torch.tensor([0.0, -torch.inf])
    assert all_finite(((), {"attention_mask": bad}))
    assert not all_finite(((bad,), {}))
    assert not all_finite(((), {"pixel_values": bad}))
    assert all_finite(((torch.tensor([1, 2]),), {}))


def test_empty_is_when_there_is_no_sample() -> None:
    assert is_empty(((torch.zeros(0, 3),), {}))
    assert not is_empty(((torch.zeros(2, 0),), {}))
    assert not is_empty(((3,), {}))


@pytest.mark.parametrize(
    ("batch", "args", "names"),
    [
        (torch.zeros(2), 1, ()),
        ((torch.zeros(2), 1), 1, ()),
        ([torch.zeros(2), 1], 1, ()),
        (((torch.zeros(2), torch.zeros(2)), 1), 2, ()),
        ({"pixel_values": torch.zeros(2), "labels": 1}, 0, ("pixel_values",)),
    ],
)
def test_a_loaders_batch_is_taken_without_its_labels(batch: object, args: int, names: tuple[str, ...]) -> None:
    found, kwargs = batch_inputs(batch)
    assert len(found) == args
    assert tuple(kwargs) == names


def test_an_empty_tuple_is_no_batch() -> None:
    with pytest.raises(ValueError, match="empty tuple"):
        batch_inputs(())


def test_several_inputs_and_keywords() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.fc = nn.LayerNorm(4), nn.Linear(4, 3)

        def forward(self, a: Tensor, b: Tensor, *, scale: float = 1.0) -> tuple[Tensor, Tensor]:
            x = self.norm(a + b) * scale
            return self.fc(x), x

    adapted = tent.adapt(Two())
    answer = adapted(torch.randn(3, 4), b=torch.randn(3, 4), scale=2.0)
    assert [t.shape for t in answer] == [(3, 3), (3, 4)]
    adapted.fit([{"a": torch.randn(3, 4), "b": torch.randn(3, 4)}, ((torch.randn(3, 4), torch.randn(3, 4)), None)])
    assert adapted.updates == 3


def forward_pass(output: object, **kwargs: Tensor) -> ForwardPass:
    return ForwardPass(((), kwargs), lambda: (output, None))


@pytest.mark.parametrize("shape", SHAPES)
def test_other_logits_take_the_place_of_the_models(shape: str) -> None:
    output = SHAPES[shape]()
    seen = forward_pass(output)
    answer = seen.with_logits(seen.logits + 1)
    assert type(answer) is type(output)
    assert torch.equal(find_logits(answer, ((), {})), find_logits(output, ((), {})) + 1)
    for ours, theirs in list(zip(list_tensors(answer), list_tensors(output), strict=True))[1:]:
        assert ours is theirs
    with pytest.raises(ValueError, match=r"shape \(4, 2\) in the place of \(4, 3\)"):
        seen.with_logits(torch.zeros(4, 2))


@pytest.mark.parametrize("masked", [False, True])
def test_other_logits_of_tokens_go_where_theirs_were(masked: bool) -> None:
    output = TokenClassifierOutput(logits=torch.randn(2, 5, 3))
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    seen = forward_pass(output, **({"attention_mask": mask} if masked else {}))
    answer = seen.with_logits(seen.logits * 2)
    assert answer.logits is answer["logits"]
    factor = (1 + mask[:, :, None]) if masked else 2
    assert torch.equal(answer.logits, output.logits * factor)


def test_logits_that_were_computed_have_no_place_to_put_others() -> None:
    seen = ForwardPass(((), {}), lambda: (torch.randn(3, 1), None), lambda z: torch.cat([-z, z], 1))
    with pytest.raises(ValueError, match="others cannot be put in their place"):
        seen.with_logits(torch.zeros(3, 2))


@pytest.mark.parametrize(
    ("inputs", "args", "names"),
    [
        (torch.zeros(2), 1, ()),
        ((torch.zeros(2), 3), 2, ()),
        ([torch.zeros(2)], 1, ()),
        ({"a": torch.zeros(2), "labels": torch.zeros(2)}, 0, ("a", "labels")),
    ],
)
def test_what_a_model_is_called_with(inputs: object, args: int, names: tuple[str, ...]) -> None:
    found, kwargs = call_inputs(inputs)
    assert (len(found), tuple(kwargs)) == (args, names)
