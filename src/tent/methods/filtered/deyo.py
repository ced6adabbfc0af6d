"""DeYO: entropy is not enough for test-time adaptation (Lee et al., ICLR 2024)."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import Tensor

from tent import norm
from tent.augment import shuffle_patches
from tent.engine.mode import SingleValueError
from tent.engine.structures import list_tensors, map_tensors
from tent.losses import certainty_weight, entropy_margin
from tent.method import ForwardPass, Method, OptimizerFactory, State, require_whole, require_within
from tent.methods.filtered.certain import find_certain
from tent.methods.filtered.eata import SMALL_IMAGES
from tent.methods.filtered.sar import imagenet_sgd
from tent.select import early_norm_affine

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, repr=False)
class DeYO(Method):
    """Lower the entropy of images whose label rests on their shape: it loses probability once patches are shuffled.

    That loss of probability is the PLPD. The shuffled pass is over the certain images alone, as published, so batch
    norms see their statistics there. A reset works as for every method; the public code's own fails, since it reads
    attributes that are never set. Where that pass is over one image and a batch norm sees one value a channel of it,
    there is no update.
    """

    margin: float = 0.5  # of ln(classes): a prediction of this entropy or more is not learnt from
    threshold: float = 0.2  # of the PLPD; the paper's for wild streams, and what CIFAR-C is run with
    reference: float = 0.4  # of ln(classes): the entropy at which the weight by certainty is 1
    parts: int = 4  # patches a side
    optimizer: OptimizerFactory = field(default=SMALL_IMAGES, repr=False)

    select = staticmethod(early_norm_affine)
    stats = norm.Batch()
    needs = frozenset({"augmented views"})

    def __post_init__(self) -> None:
        require_within(self, 0, math.inf, "margin", "reference")
        require_within(self, -1, 1, "threshold")
        require_whole(self, "parts")

    @classmethod
    def for_imagenet(cls, vit: bool = False, batch: int = 64, wild: bool = False) -> "Self":
        """Return it as it is run on ImageNet-C: one shift at a time, or a wild stream (mixed, correlated, batch 1)."""
        return cls(threshold=0.2 if wild else 0.3, optimizer=imagenet_sgd(vit, batch))

    def loss(self, seen: ForwardPass, state: State) -> Tensor | None:
        """Return the mean weighted entropy of the predictions that are kept, or None where there are none."""
        if seen.logits.dim() != 2:
            raise ValueError(f"DeYO needs one label an image, and was given logits of {tuple(seen.logits.shape)}")
        entropies, certain = find_certain(seen, state, self.margin)
        if not certain.any() and state.group is None:  # ranks run their batch norms together
            return None
        try:
            entropies, plpd = entropies[certain], self._plpd(seen, state, certain)
        except SingleValueError:
            return None
        kept = plpd > self.threshold
        if not kept.any():
            return None
        weight = certainty_weight(entropies, entropy_margin(seen.logits, self.reference)) + plpd.exp()
        return (entropies * weight)[kept].mean()

    def _plpd(self, seen: ForwardPass, state: State, certain: Tensor) -> Tensor:
        shuffled = shuffle_patches(_images(seen)[certain], self.parts, state.generator("patches"))
        args, kwargs = map_tensors(seen.inputs, lambda _: shuffled)
        after = state.forward(*args, **kwargs, grad=False).logits.softmax(1)  # (certain, classes)
        before = seen.logits.detach()[certain].softmax(1)
        label = before.argmax(1, keepdim=True)
        return (before.gather(1, label) - after.gather(1, label)).squeeze(1)


def _images(seen: ForwardPass) -> Tensor:
    found = list_tensors(seen.inputs)
    if len(found) != 1 or found[0].dim() != 4:
        shapes = " and ".join(str(tuple(tensor.shape)) for tensor in found) or "no tensor"
        raise ValueError(f"DeYO shuffles the patches of images, (n, c, h, w), and was given {shapes}")
    return found[0]
