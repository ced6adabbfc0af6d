"""What training minimises, as a module of its own so that it may bring heads that learn along."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tent.data.segments.class_map import IGNORE
from tent.engine.structures import find_logits
from tent.tasks.segmentation import resize_logits


@dataclass(frozen=True)
class Batch:
    """What one step of training sees."""

    inputs: Tensor  # (n, c, h, w), augmented and normalised
    labels: Tensor
    progress: float  # share of the run that is done, from 0 to 1
    random: torch.Generator  # seeded by the step, so that a resumed run draws the same
    target: Tensor | None = None  # as many images of the target, treated alike; their labels are not known


class Objective(nn.Module):
    """A loss that the loop minimises; parameters it holds are trained and saved with the model's."""

    method = "source"  # its name on a card
    needs_target = False  # whether it looks at a target
    cost = 1.0  # images that pass through the network, forward and backward, for each labelled one

    def check_size(self, height: int, width: int) -> None:
        """Refuse images of a size that it cannot learn from."""

    def start(self, model: nn.Module) -> None:
        """Make the heads that fit a model; torch's random numbers are seeded by then."""

    def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """The scalar to minimise, and the logits that the training error is counted on."""
        raise NotImplementedError

    def count_mistakes(self, logits: Tensor, labels: Tensor) -> float:
        """Return how many of the labels the logits are wrong about."""
        return float((logits.argmax(1) != labels).sum())


class CrossEntropy(Objective):
    """Plain supervised training."""

    def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Mean cross-entropy of the model's answers to the labels, and the penalty that a model may ask for."""
        logits = find_logits(model(batch.inputs), ((batch.inputs,), {})).float()
        if logits.dim() != 2:
            raise ValueError(f"the network answers with {tuple(logits.shape)}, not with one class an image")
        penalty = getattr(model, "penalty", None)  # of a network that asks for one, such as mdeq
        loss = F.cross_entropy(logits, batch.labels)
        return loss if penalty is None else loss + penalty, logits


class PixelCrossEntropy(Objective):
    """Plain supervised training of a class for each pixel, at the size of the labels."""

    def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Mean cross-entropy over the pixels that count."""
        logits = model(batch.inputs).float()
        logits = resize_logits(logits, batch.labels.shape[1:])
        total = F.cross_entropy(logits, batch.labels, ignore_index=IGNORE, reduction="sum")
        return total / (batch.labels != IGNORE).sum().clamp_min(1), logits

    def count_mistakes(self, logits: Tensor, labels: Tensor) -> float:
        """Return the share of the pixels that count which the logits are wrong about, in images."""
        counted = labels != IGNORE
        wrong = ((logits.argmax(1) != labels) & counted).sum() / counted.sum().clamp_min(1)
        return float(wrong) * len(labels)


def feature_width(model: nn.Module, method: str) -> int:
    """The number of features that heads on a model see: those that its last layer sees."""
    last = getattr(model, "fc", None)
    if not isinstance(last, nn.Linear) or not hasattr(model, "features"):
        raise ValueError(f"{method} needs a network that has `features` and a linear layer `fc` on them, such as r26")
    return last.in_features


def require_target(batch: Batch, method: str) -> Tensor:
    """Return the target's images of a batch, which must be there."""
    if batch.target is None:
        raise ValueError(f"{method} learns from a target too; give the recipe a target, such as mnist")
    return batch.target
