"""TTT, its training: labels, and rotations that test time goes on learning from (Sun et al., ICML 2020)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tent import augment
from tent.train.objectives.objective import Batch, Objective


class TTT(Objective):
    """Cross-entropy of the labels, and of the rotations of the same images by the network's rotation branch."""

    method, cost = "ttt", 2.0

    def check_size(self, height: int, width: int) -> None:
        """Refuse images that do not fit themselves after a quarter turn."""
        if height != width:
            raise ValueError(
                f"images of {height}x{width}: {self.method} turns them by quarters, so they must be square;"
                f" --size {min(height, width)} makes them so"
            )

    def start(self, model: nn.Module) -> None:
        """Look for the branch."""
        if not hasattr(model, "rotation"):
            raise ValueError(f"{self.method} needs a network with a rotation branch; choose r26-rotation")

    def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Both losses, each of a pass of its own."""
        turned, turns = augment.random_rotation(batch.inputs, batch.random)
        rotation = model(turned.contiguous(memory_format=torch.channels_last), head="rotation").float()
        logits = model(batch.inputs).float()
        return F.cross_entropy(logits, batch.labels) + F.cross_entropy(rotation, turns), logits
