"""T3A: test-time classifier adjustment (Iwasawa and Matsuo, NeurIPS 2021)."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tent.losses import entropy, wide
from tent.method import ForwardPass, Method, State
from tent.select import last_layer

ROWS, LABELS, ENTROPIES = "prototypes", "prototype labels", "prototype entropies"


@dataclass(frozen=True, repr=False)
class T3A(Method):
    """Answer by the mean direction of each class's most certain features so far; nothing moves.

    The rows of the last layer are the first of them, each under the class that the layer itself gives it. A batch is
    among its own prototypes. `None` keeps all; the public code's -1 loses the last one of each class on every batch.
    """

    most: int | None = 100  # features a class; the paper chooses from 1, 5, 20, 50, 100 and all

    answers = "after"  # the batch's own features have been added
    needs = frozenset({"memory of features"})

    def __post_init__(self) -> None:
        if self.most is not None and not (isinstance(self.most, int) and self.most >= 1):
            raise ValueError(f"T3A most must be a whole number from 1 on, or None for all, got {self.most!r}")

    def start(self, state: State) -> None:
        """Begin with the rows of the last layer."""
        names = last_layer(state.model)
        rows = wide(state.source[names[0]]).flatten(1)  # (classes, features)
        logits = F.linear(rows, rows, wide(state.source[names[1]]) if len(names) > 1 else None)
        _keep(state, rows, logits, None)

    def step(self, seen: ForwardPass, state: State) -> None:
        """Add the features of a batch, and drop what is uncertain beside them."""
        _keep(state, *_rows(seen, state), self.most)

    def answer(self, seen: ForwardPass, state: State) -> Any:
        """Return the products of features with each class's mean direction in the place of the logits."""
        features, logits = _rows(seen, state)
        labels = F.one_hot(state.tensors[LABELS], logits.shape[1]).to(features.dtype)  # (kept, classes)
        means = F.normalize(F.normalize(state.tensors[ROWS]).T @ labels, dim=0)  # (features, classes)
        shape = [len(seen.logits), *seen.logits.shape[2:], logits.shape[1]]
        return seen.with_logits((features @ means).view(shape).movedim(-1, 1))


def _keep(state: State, rows: Tensor, logits: Tensor, most: int | None) -> None:
    certain = {ROWS: rows, LABELS: logits.argmax(1), ENTROPIES: entropy(logits)}
    sound = certain[ENTROPIES].isfinite()
    held = {name: torch.cat([state.tensors.get(name, new[:0]), new[sound]]) for name, new in certain.items()}
    order = held[ENTROPIES].argsort(stable=True)
    order = order[held[LABELS][order].argsort(stable=True)]  # by class, the certain first
    labels = held[LABELS][order]
    place = torch.arange(len(labels), device=labels.device) - torch.searchsorted(labels, labels)  # in its class
    chosen = order if most is None else order[place < most]
    state.tensors.update({name: tensor[chosen] for name, tensor in held.items()})


def _rows(seen: ForwardPass, state: State) -> tuple[Tensor, Tensor]:
    # one row a prediction: what the last layer was given, and what it said
    weight, features = state.source[last_layer(state.model)[0]], seen.features
    logits = wide(seen.logits.movedim(1, -1).flatten(0, -2))
    if features is not None:
        axis = 1 if weight.dim() > 2 else -1  # a convolution has its channels there, a linear layer last
        features = wide(features.movedim(axis, -1).flatten(0, -2))
    if features is None or (len(features), len(weight)) != logits.shape:
        raise ValueError(
            f"T3A needs a last layer, linear or a 1x1 convolution, whose outputs are the logits; in "
            f"{type(state.model).__name__} the last one makes {len(weight)} outputs, and the logits are of "
            f"{tuple(seen.logits.shape)}; use another method, such as tent.BN"
        )
    return features, logits
