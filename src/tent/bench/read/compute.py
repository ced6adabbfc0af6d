"""Compute: how many images go through the network, forward and backward, for a case's answers and for a training."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tent.bench.case import METHODS, Case
from tent.method import Method


@dataclass(frozen=True)
class Passes:
    """Images that go through the whole network."""

    forward: float
    backward: float

    @property
    def total(self) -> float:
        """Forward and backward together, one counting as much as the other: a unit that hardware has no say in."""
        return self.forward + self.backward

    def __add__(self, other: "Passes") -> "Passes":
        return Passes(self.forward + other.forward, self.backward + other.backward)

    def scaled(self, by: float) -> "Passes":
        """Return so many times as many."""
        return Passes(self.forward * by, self.backward * by)

    def rounded(self) -> "Passes":
        """Return whole images."""
        return Passes(round(self.forward), round(self.backward))


def passes(case: Case, images: int, training: Mapping[str, Any] | None = None, share: float = 1.0) -> Passes:
    """Return what a case takes to answer so many images, and with it a share of its model's training, if one is given.

    A set to learn from whose size the case does not say counts as one of as many images as are answered.
    """
    before = training or {}
    return _answered(case, images) + Passes(before.get("forward", 0), before.get("backward", 0)).scaled(share)


def _answered(case: Case, images: int) -> Passes:
    learnt = images
    if case.fit is not None and case.fit.part is not None:
        first, end = case.fit.part
        learnt = min(end - first, case.images or end - first)
    method = METHODS[case.method]
    if method.loss is Method.loss:  # nothing is learnt from a batch
        return Passes(images + learnt * case.epochs if case.when == "offline" else learnt * case.epochs, 0)
    # online, the pass that is learnt from answers too; but not after the update, and not where it is of other inputs
    own = case.when != "offline" and (case.answers or method.answers) == "before" and method.uses_pass
    answer = 0 if own else images
    steps = learnt * case.epochs * case.steps * int(case.options.get("copies", 1))
    return Passes(steps + answer, steps)
