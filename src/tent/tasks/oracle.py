"""Oracle: γ and β moved by the target's own labels; a bound to compare methods with, never a method itself.

It lives beside the labels, which the core never sees: whoever runs the stream reveals those of the batch at hand.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch.nn.functional as F
from torch import Tensor

from tent import norm
from tent.method import ForwardPass, Method, State
from tent.select import norm_affine
from tent.tasks.segmentation import IGNORE, resize_logits

_labels: ContextVar[Tensor | None] = ContextVar("labels", default=None)


class Oracle(Method):
    """Normalise by the test batch, and move γ and β down the cross-entropy to its labels."""

    select = staticmethod(norm_affine)
    stats = norm.Batch()
    needs = frozenset({"labels"})

    def loss(self, seen: ForwardPass, state: State) -> Tensor | None:
        """Return the mean cross-entropy to the labels that are revealed; of maps, over the pixels that are counted."""
        labels = _labels.get()
        if labels is None:
            raise ValueError(
                "an oracle learns from labels, and none were revealed; run it by `tent bench` or `tent analyse`"
            )
        labels = labels.to(seen.logits.device)
        if labels.dim() != 3:
            return F.cross_entropy(seen.logits, labels)
        if bool((labels == IGNORE).all()):
            return None  # a mean over no pixel is not a number
        return F.cross_entropy(resize_logits(seen.logits, labels.shape[1:]), labels, ignore_index=IGNORE)


@contextmanager
def reveal(labels: Tensor | None) -> Iterator[None]:
    """Reveal the labels of the batch that is answered inside the `with`, to this thread alone."""
    token = _labels.set(labels)
    try:
        yield
    finally:
        _labels.reset(token)
