"""Oracle: γ and β moved by the target's own labels; a bound to compare methods with, never a method itself.

It lives beside the labels, which the core never sees: whoever runs the stream shows it those of the batch at hand.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch.nn.functional as F
from torch import Tensor

from tent import norm
from tent.method import ForwardPass, Method, State
from tent.select import norm_affine


class Oracle(Method):
    """Normalise by the test batch, and move γ and β down the cross-entropy to its labels."""

    select = staticmethod(norm_affine)
    stats = norm.Batch()

    def __init__(self) -> None:
        self._labels: Tensor | None = None  # of the batch at hand, while it is shown

    def loss(self, seen: ForwardPass, run: State) -> Tensor | None:
        """Return the mean cross-entropy to the labels that are shown."""
        if self._labels is None:
            raise ValueError("an oracle learns from labels, and none were shown; it is for `tent bench` alone")
        return F.cross_entropy(seen.logits, self._labels.to(seen.logits.device))

    def __repr__(self) -> str:
        return "Oracle()"


@contextmanager
def shown(method: Method, labels: Tensor) -> Iterator[None]:
    """Show an oracle the labels of the batch that is answered inside the `with`; any other method sees none."""
    if not isinstance(method, Oracle):
        yield
        return
    method._labels = labels
    try:
        yield
    finally:
        method._labels = None
