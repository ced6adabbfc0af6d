"""RG: features that do not tell source from target, by a reversed gradient (Ganin & Lempitsky, ICML 2015)."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tent.train.objectives.objective import Batch, Objective, feature_width, require_target


class RG(Objective):
    """Cross-entropy on the source, and a domain classifier on the features whose gradient reaches them reversed."""

    method, needs_target, cost = "rg", True, 2.0

    def __init__(self, hidden: int = 100) -> None:
        super().__init__()
        self.hidden = hidden
        self.domain: nn.Module = nn.Identity()  # until the network's width is known

    def __repr__(self) -> str:
        return f"RG(hidden={self.hidden})"

    def start(self, model: nn.Module) -> None:
        """Make the domain classifier."""
        width = feature_width(model, self.method)
        self.domain = nn.Sequential(nn.Linear(width, self.hidden), nn.ReLU(), nn.Linear(self.hidden, 1))

    def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Both losses of one pass over source and target, which so are normalised together."""
        target, n = require_target(batch, self.method), len(batch.labels)
        features = model.features(torch.cat([batch.inputs, target]))  # type: ignore[operator]
        logits = model.fc(features[:n]).float()  # type: ignore[operator]
        domain = self.domain(reverse_gradient(features, reversal_weight(batch.progress))).float().squeeze(1)
        is_target = (torch.arange(len(domain), device=domain.device) >= n).float()
        return F.cross_entropy(logits, batch.labels) + F.binary_cross_entropy_with_logits(domain, is_target), logits


class Reversal(torch.autograd.Function):
    """The identity, whose gradient is turned around and weighted."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: float) -> Tensor:
        """Pass x on as it is."""
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Turn the gradient around."""
        return -ctx.weight * gradients[0], None


def reverse_gradient(x: Tensor, weight: float) -> Tensor:
    """Return x, of which whatever comes after learns the opposite, `weight` times."""
    out: Tensor = Reversal.apply(x, weight)
    return out


def reversal_weight(progress: float) -> float:
    """The weight after a share of the run: 0 at first, near 1 from half way on (Ganin & Lempitsky, section 3)."""
    return 2 / (1 + math.exp(-10 * progress)) - 1
