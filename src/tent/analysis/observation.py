"""What a figure is told of a batch: where it comes from, and what every method predicted."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from tent import losses

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Domain:
    """One stream of an analysis: a type of corruption at a level, the original data, or a set of one's own."""

    name: str
    type: str = ""  # of corruption; its name if it has none
    level: int | None = None  # 0: the original data
    original: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", self.type or self.name)


@dataclass(frozen=True)
class Predictions:
    """One method's predictions of a batch, a value an image, in float64; loss and error where labels are known."""

    answers: Integers
    confidence: Floats
    entropy: Floats  # nats
    classes: int
    loss: Floats | None = None
    wrong: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Observation:
    """A batch and what every method, by its name, predicted for it."""

    domain: Domain
    labels: Integers | None
    by_method: Mapping[str, Predictions]

    def __len__(self) -> int:
        return len(next(iter(self.by_method.values())).answers)


def predict(logits: Tensor, labels: Tensor | None = None) -> Predictions:
    """Return what logits, (n, classes), predict."""
    if logits.dim() != 2:
        raise ValueError(f"logits of shape {tuple(logits.shape)}; a figure is of one class an image, (n, classes)")
    z = logits.detach().to("cpu", torch.float64)
    if bad := int((~z.isfinite()).any(1).sum()):
        raise ValueError(f"the model answered {bad:,} of {len(z):,} images with NaN or Inf; nothing to analyse")
    answers, known = z.argmax(1), {}
    if labels is not None:
        y = torch.as_tensor(labels).cpu().long()
        _check_labels(y, z)
        known = {"loss": F.cross_entropy(z, y, reduction="none").numpy(), "wrong": (answers != y).numpy()}
    return Predictions(
        answers.numpy(), losses.confidence(z).numpy(), losses.entropy(z).clamp_min(0).numpy(), z.shape[1], **known
    )


def _check_labels(labels: Tensor, logits: Tensor) -> None:
    if labels.shape != logits.shape[:1]:
        raise ValueError(f"labels of shape {tuple(labels.shape)} for logits of shape {tuple(logits.shape)}")
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < logits.shape[1]:
        worst = int(labels.min()) if int(labels.min()) < 0 else int(labels.max())
        raise ValueError(f"a label is {worst}; the model answers with {logits.shape[1]} classes, counted from 0")
