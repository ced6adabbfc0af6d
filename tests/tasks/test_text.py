"""Texts and tokens: padding is counted neither by the attention mask nor by a label of -100."""

from collections import OrderedDict
from typing import Any

import pytest
import torch

from tent.tasks import TextClassification

LABELS = torch.tensor([[0, 1, -100], [1, -100, -100]])  # three tokens count
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


class Output(OrderedDict[str, torch.Tensor]):
    """What transformers returns: a mapping that is a tuple too, with a token's classes last."""

    def to_tuple(self) -> tuple[Any, ...]:
        return tuple(self.values())


def tokens(answers: list[list[int]]) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(answers), 2).float() * 4  # (n, tokens, classes)


ANSWERS = tokens([[0, 0, 1], [1, 0, 0]])  # right, wrong, -; right, -, -


def test_tokens_by_label() -> None:
    task = TextClassification()
    task.update(ANSWERS.movedim(-1, 1), LABELS)
    assert task.compute()["error"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("masked", [True, False])
def test_tokens_of_a_transformer_with_and_without_a_mask(masked: bool) -> None:
    task = TextClassification()
    kwargs = {"attention_mask": MASK} if masked else {}
    task.update(*task.read(Output(logits=ANSWERS), ((), kwargs), LABELS))
    assert task.compute()["error"] == pytest.approx(1 / 3)
    assert task.sums is not None
    assert task.sums[0] == 3


def test_padding_that_has_labels_is_left_out_by_the_mask() -> None:
    labels = torch.tensor([[0, 0, 1], [1, 0, 1]])  # the last token is padding, and would be wrong
    for output in (Output(logits=ANSWERS), ANSWERS.movedim(-1, 1)):
        task = TextClassification()
        task.update(*task.read(output, ((), {"attention_mask": MASK}), labels))
        assert task.compute()["error"] == 0.0
        assert task.sums is not None
        assert task.sums[0] == 5


def test_a_class_for_each_text() -> None:
    task, output = TextClassification(classes=2), {"logits": torch.tensor([[2.0, 1.0], [2.0, 1.0]])}
    task.update(*task.read(output, ((), {"attention_mask": MASK}), torch.tensor([0, 1])))
    assert task.compute()["error"] == 0.5
