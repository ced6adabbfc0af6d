"""SHOT-IM: do we really need to access the source data? (Liang et al., ICML 2020)."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tent import norm
from tent.losses import information_maximisation
from tent.method import ForwardPass, Method, OptimizerFactory, State
from tent.select import Select, feature_layers, norm_affine

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, repr=False)
class SHOT(Method):
    """Make predictions certain one by one and diverse together; online, over γ and β, as later papers compare with it.

    This is the paper's information maximisation; its clustering of pseudo-labels needs the whole target set at once.
    """

    select: Select = field(default=norm_affine, repr=False)
    optimizer: OptimizerFactory = field(default=partial(torch.optim.Adam, lr=1e-3), repr=False)

    stats = norm.Batch()

    @classmethod
    def for_features(cls) -> "Self":
        """Return it as the paper has it for photographs: all layers but the classifier move; for `fit`, some epochs."""
        sgd = partial(torch.optim.SGD, lr=1e-3, momentum=0.9, nesterov=True, weight_decay=1e-3)
        return cls(feature_layers, sgd)

    def loss(self, seen: ForwardPass, state: State) -> Tensor | None:
        """Return the mean entropy less the entropy of the mean prediction."""
        return information_maximisation(seen.logits).mean()
