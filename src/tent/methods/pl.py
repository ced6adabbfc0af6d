"""PL: pseudo-labels (Lee 2013), at test time as the Tent paper compares with it."""

from dataclasses import dataclass

from torch import Tensor

from tent import norm
from tent.losses import confidence, pseudo_label
from tent.method import ForwardPass, Method, State
from tent.select import norm_affine


@dataclass(frozen=True, repr=False)
class PL(Method):
    """Move γ and β to the model's own labels wherever its confidence is `threshold` or more."""

    threshold: float = 0.9

    select = staticmethod(norm_affine)
    stats = norm.Batch()

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"PL threshold must be in [0, 1], got {self.threshold}")

    def loss(self, seen: ForwardPass, state: State) -> Tensor | None:
        """Return the mean cross-entropy over the confident predictions, or None where there are none."""
        sure = confidence(seen.logits) >= self.threshold
        return pseudo_label(seen.logits)[sure].mean() if sure.any() else None
