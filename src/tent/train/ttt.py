"""TTT, its training: labels, and rotations that test time goes on learning from (Sun et al., ICML 2020)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tent import rotations
from tent.train.objective import Batch, Objective


class TTT(Objective):
    """Cross-entropy of the labels, and of the rotations of the same images by the network's rotation branch."""

    method, cost = "ttt", 2.0

    def start(self, model: nn.Module) -> None:
        """Look for the branch."""
        if not hasattr(model, "rotation"):
            raise ValueError(f"{self.method} needs a network with a rotation branch; choose r26-rotation")

    def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Both losses, each of a pass of its own."""
        turned, turns = rotations.drawn(batch.inputs, batch.random)
        rotation = model(turned.contiguous(memory_format=torch.channels_last), head="rotation").float()
        logits = model(batch.inputs).float()
        return F.cross_entropy(logits, batch.labels) + F.cross_entropy(rotation, turns), logits
