"""LAME: parameter-free online test-time adaptation (Boudiaf et al., CVPR 2022)."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tent.losses import wide
from tent.method import ForwardPass, Method, State, require_whole

AFFINITIES = ("rbf", "knn", "linear")


@dataclass(frozen=True, repr=False)
class LAME(Method):
    """Answer so that samples with like features get like labels, close to what the model says; nothing moves.

    Its answers are probabilities: their logarithms stand in the place of the logits.
    """

    affinity: str = "rbf"  # or knn (1 for neighbours), linear (the cosine); the paper's choice
    neighbours: int = 5  # rbf: σ is the mean distance to the so-manieth nearest, of which a sample itself is the first
    rounds: int = 100  # at most
    tolerance: float = 1e-8  # relative change of the energy at which the rounds end

    def __post_init__(self) -> None:
        if self.affinity not in AFFINITIES:
            raise ValueError(f"LAME affinity must be one of {', '.join(AFFINITIES)}, got {self.affinity!r}")
        require_whole(self, "neighbours")

    def answer(self, seen: ForwardPass, state: State) -> Any:
        """Return the logarithms of the labels' probabilities in the place of the logits."""
        logits, features = wide(seen.logits), seen.features
        if logits.dim() != 2:
            raise ValueError(f"LAME needs one label a sample, and was given logits of {tuple(logits.shape)}")
        if features is None or len(features) != len(logits):
            raise ValueError(
                f"LAME compares features, the input of the last linear or convolutional layer, and "
                f"{type(state.model).__name__} has none for each sample; use another method, such as tent.BN"
            )
        if not len(logits):
            return seen.output
        own = (logits.softmax(1) + 1e-10).log()  # (n, classes)
        return seen.with_logits(self._smooth(own, self._affinities(wide(features).flatten(1))))

    def _affinities(self, features: Tensor) -> Tensor:
        features = F.normalize(features)
        if self.affinity == "linear":
            return features @ features.T
        distances = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")  # (n, n)
        if self.affinity == "knn":
            nearest = distances.topk(min(self.neighbours + 1, len(features)), largest=False).indices[:, 1:]
            return torch.zeros_like(distances).scatter(1, nearest, 1.0)
        sigma = distances.topk(min(self.neighbours, len(features)), largest=False).values[:, -1].mean()
        return (-(distances / sigma.clamp_min(torch.finfo(sigma.dtype).tiny)).square() / 2).exp()

    def _smooth(self, own: Tensor, affinities: Tensor) -> Tensor:
        labels, last = own.softmax(1), float("inf")
        for count in range(self.rounds):
            pull = affinities @ labels
            log_labels = (own + pull).log_softmax(1)
            labels = log_labels.exp()
            energy = float((labels * (log_labels.clamp_min(-1e4) - own - pull)).sum())
            if count > 1 and abs(energy - last) <= self.tolerance * abs(last):
                break
            last = energy
        return log_labels
