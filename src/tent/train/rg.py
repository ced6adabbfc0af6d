"""RG: features that do not tell source from target, by a reversed gradient (Ganin & Lempitsky, ICML 2015)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tent.train.objective import Batch, Objective, feature_width, target_of
from tent.train.reversal import reversal_weight, reversed_gradient


class RG(Objective):
    """Cross-entropy on the source, and a domain classifier on the features whose gradient reaches them reversed."""

    method, targeted, cost = "rg", True, 2.0

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
        target, n = target_of(batch, self.method), len(batch.labels)
        features = model.features(torch.cat([batch.inputs, target]))  # type: ignore[operator]
        logits = model.fc(features[:n]).float()  # type: ignore[operator]
        domain = self.domain(reversed_gradient(features, reversal_weight(batch.progress))).float().squeeze(1)
        is_target = (torch.arange(len(domain), device=domain.device) >= n).float()
        return F.cross_entropy(logits, batch.labels) + F.binary_cross_entropy_with_logits(domain, is_target), logits
