"""ETA and EATA: efficient test-time adaptation without forgetting (Niu et al., ICML 2022)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tent import norm
from tent.losses import certainty_weight, entropy, entropy_margin, pseudo_label, similarity
from tent.method import ForwardPass, Method, OptimizerFactory, State, require_within
from tent.methods.filtered.certain import find_certain, run_kept
from tent.select import norm_affine

if TYPE_CHECKING:
    from typing_extensions import Self

SMALL_IMAGES: OptimizerFactory = partial(torch.optim.Adam, lr=1e-3)  # of the papers that run CIFAR-C
IMAGENET: OptimizerFactory = partial(torch.optim.SGD, lr=2.5e-4, momentum=0.9)  # for a ResNet-50 at batch 64
MEAN = "mean prediction"
FISHER = "importance "  # before the names of the parameters


@dataclass(frozen=True, repr=False)
class ETA(Method):
    """Lower the entropy of predictions that are certain and unlike those learnt from before, the certain ones most.

    A batch of which nothing is kept makes no update, and needs no backward pass. Without batch norms, a batch of which
    little is kept is gone back through for the kept samples alone; with them, every sample has a part in the gradient.
    """

    margin: float = 0.4  # of ln(classes): a prediction of this entropy or more is not learnt from
    redundancy: float = 0.4  # nor is one whose cosine to the mean prediction is this or more; the paper's ε
    momentum: float = 0.9  # of the mean prediction
    optimizer: OptimizerFactory = field(default=SMALL_IMAGES, repr=False)

    select = staticmethod(norm_affine)
    stats = norm.Batch()

    def __post_init__(self) -> None:
        require_within(self, 0, math.inf, "margin", "redundancy")
        require_within(self, 0, 1, "momentum")

    @classmethod
    def for_cifar100(cls) -> "Self":
        """Return it as it is run on CIFAR-100-C."""
        return cls(redundancy=0.1)

    @classmethod
    def for_imagenet(cls) -> "Self":
        """Return it as it is run on ImageNet-C with a ResNet-50, in batches of 64."""
        return cls(redundancy=0.05, optimizer=IMAGENET)

    def loss(self, seen: ForwardPass, state: State) -> Tensor | None:
        """Return the mean weighted entropy of the predictions that are kept, or None where there are none."""
        entropies, kept = find_certain(seen, state, self.margin)
        if MEAN in state.tensors:  # the first predictions have nothing to be like
            kept = kept & (similarity(seen.logits, state.tensors[MEAN]).abs() < self.redundancy)
        if not kept.any():
            return None
        new = seen.logits.detach().movedim(1, -1)[kept].to(entropies.dtype).softmax(1).mean(0)  # (classes,)
        state.tensors[MEAN] = new.lerp(state.tensors.get(MEAN, new), self.momentum)
        # a second pass over less than half of the samples takes less than the way back through all of them
        few = run_kept(seen, state, kept, {}) if 2 * int(kept.sum()) < len(kept) else None
        entropies = entropies[kept] if few is None else entropy(few.logits)
        return (entropies * certainty_weight(entropies, entropy_margin(seen.logits, self.margin))).mean()


@dataclass(frozen=True, repr=False)
class EATA(ETA):
    """ETA, with parameters held near the source's, each by how much the source's own predictions depend on it.

    That is its Fisher information: the squared gradient of the cross-entropy to the model's own labels of a batch,
    averaged over batches; the paper takes 2,000 source images in batches of 64.
    """

    alpha: float = 1.0  # the weight of the pull to the source

    needs = frozenset({"source data"})

    def __post_init__(self) -> None:
        super().__post_init__()
        require_within(self, 0, math.inf, "alpha")

    @classmethod
    def for_imagenet(cls) -> "Self":
        """Return it as it is run on ImageNet-C with a ResNet-50, in batches of 64."""
        return cls(redundancy=0.05, alpha=2000.0, optimizer=IMAGENET)

    def prepare(self, state: State, batches: Iterable[ForwardPass]) -> None:
        """Measure on source images how much each parameter matters."""
        total = {name: torch.zeros_like(param) for name, param in state.params.items()}
        count = 0
        for count, seen in enumerate(batches, 1):  # noqa: B007
            state.backward(pseudo_label(seen.logits).mean())
            for name, param in state.params.items():
                total[name] += 0 if param.grad is None else param.grad.square()
            state.clear_gradients()
        state.tensors.update({FISHER + name: value.detach() / count for name, value in total.items()})

    def loss(self, seen: ForwardPass, state: State) -> Tensor | None:
        """Return ETA's loss and the pull to the source, or None where nothing is kept."""
        loss = super().loss(seen, state)
        if loss is None:
            return None
        moved = {name: param - state.source[name].to(param) for name, param in state.params.items()}
        pull = [(state.tensors[FISHER + name] * change.square()).sum() for name, change in moved.items()]
        return loss + self.alpha * torch.stack(pull).sum()
