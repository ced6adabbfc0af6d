"""SAR: towards stable test-time adaptation in dynamic wild world (Niu et al., ICLR 2023)."""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tent import norm
from tent.engine import distributed
from tent.method import ForwardPass, Method, OptimizerFactory, State, require_within
from tent.methods.filtered.certain import find_certain, run_kept
from tent.methods.filtered.eata import SMALL_IMAGES
from tent.select import early_norm_affine

if TYPE_CHECKING:
    from typing_extensions import Self

MEAN = "mean loss"


def imagenet_sgd(vit: bool = False, batch: int = 64) -> OptimizerFactory:
    """Return the optimizer of SAR and DeYO on ImageNet-C, whose rate depends on the network and the batch size."""
    rate = 1e-3 * batch / 64 if vit else 2.5e-4 * min(1.0, batch / 32 if batch < 32 else 1.0)
    return partial(torch.optim.SGD, lr=rate * (2 if batch == 1 else 1), momentum=0.9)


@dataclass(frozen=True, repr=False)
class SAR(Method):
    """Lower the entropy of certain predictions toward flat minima, and go back to the source when all is too certain.

    The gradient is taken at parameters moved `radius` up the loss, over the predictions that are certain here and
    there; without batch norms, the second pass is over those that are certain here alone. When the average of that
    loss falls below `recovery`, everything is reset, the average too: the public code puts the old average back, and
    so resets again and again. Where nothing is kept there is no update; the public code takes a step of momentum alone.
    """

    margin: float = 0.4  # of ln(classes): a prediction of this entropy or more is not learnt from
    radius: float = 0.05  # of the step up the loss
    recovery: float = 0.2  # in nats whatever the classes; a net that is surer than this from the start stays the source
    momentum: float = 0.9  # of the average loss
    optimizer: OptimizerFactory = field(default=SMALL_IMAGES, repr=False)

    select = staticmethod(early_norm_affine)
    stats = norm.Batch()

    def __post_init__(self) -> None:
        require_within(self, 0, math.inf, "margin", "radius", "recovery")
        require_within(self, 0, 1, "momentum")

    @classmethod
    def for_imagenet(cls, vit: bool = False, batch: int = 64) -> "Self":
        """Return it as it is run on ImageNet-C, with a ResNet-50 or a ViT-B."""
        return cls(optimizer=imagenet_sgd(vit, batch))

    def step(self, seen: ForwardPass, state: State) -> None:
        """Look for the worst parameters nearby, and follow the gradient from there."""
        if not state.params:
            return
        entropies, certain = find_certain(seen, state, self.margin)
        if not self._any(certain, state):
            return
        state.backward(_mean(entropies, certain))
        nearby = self._climb(state)
        state.clear_gradients()
        few = run_kept(seen, state, certain, nearby)
        args, kwargs = seen.inputs
        there = few or state.forward(*args, **kwargs, params=nearby)
        again, certain_there = find_certain(there, state, self.margin)
        certain = certain_there if few else certain & certain_there
        if self._any(certain, state):
            state.update(_mean(again, certain))
            self._recover(again.detach()[certain], state)

    def _climb(self, state: State) -> dict[str, Tensor]:
        grads = {name: param.grad for name, param in state.params.items() if param.grad is not None}
        length = torch.stack([grad.norm() for grad in grads.values()]).norm() + 1e-12
        return {name: state.params[name] + grad * (self.radius / length) for name, grad in grads.items()}

    def _recover(self, losses: Tensor, state: State) -> None:
        total = torch.stack([losses.sum(), losses.new_tensor(float(len(losses)))])
        if state.group is not None:
            distributed.average([total], state.group)  # all ranks reset, or none
        new = total[0] / total[1]
        state.tensors[MEAN] = new.lerp(state.tensors.get(MEAN, new), self.momentum)
        if state.tensors[MEAN] < self.recovery:
            state.reset()

    def _any(self, kept: Tensor, state: State) -> bool:
        fine = bool(kept.any())
        return fine if state.group is None else not distributed.agree(not fine, state.group)


def _mean(entropies: Tensor, kept: Tensor) -> Tensor:
    return entropies[kept].mean() if kept.any() else entropies.sum() * 0  # of a rank beside others that have some
