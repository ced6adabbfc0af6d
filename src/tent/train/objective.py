"""What training minimises, as a module of its own so that it may bring heads that learn along."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Batch:
    """What one step of training sees."""

    inputs: Tensor  # (n, c, h, w), augmented and normalised
    labels: Tensor
    progress: float  # share of the run that is done, from 0 to 1
    random: torch.Generator  # seeded by the step, so that a resumed run draws the same


class Objective(nn.Module):
    """A loss that the loop minimises; parameters it holds are trained and saved with the model's."""

    def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """The scalar to minimise, and the logits that the training error is counted on."""
        raise NotImplementedError


class CrossEntropy(Objective):
    """Plain supervised training."""

    def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Mean cross-entropy of the model's answers to the labels."""
        logits = model(batch.inputs).float()
        return F.cross_entropy(logits, batch.labels), logits
