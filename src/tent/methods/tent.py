"""Tent: fully test-time adaptation by entropy minimisation (Wang et al., ICLR 2021)."""

from dataclasses import dataclass

from torch import Tensor

from tent import norm
from tent.losses import Loss, entropy
from tent.method import ForwardPass, Method, State
from tent.select import norm_affine


@dataclass(frozen=True, repr=False)
class Tent(Method):
    """Normalise by the test batch, and move γ and β down the entropy of the model's own predictions."""

    objective: Loss = entropy

    select = staticmethod(norm_affine)
    stats = norm.Batch()

    def loss(self, seen: ForwardPass, state: State) -> Tensor | None:
        """Return the mean entropy."""
        return self.objective(seen.logits).mean()
