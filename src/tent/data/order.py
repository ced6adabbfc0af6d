"""The order that samples come in: shuffled, as stored, correlated by class, or sorted by class."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
WORDS = "shuffled, stored, correlated:C (C > 0, such as correlated:0.1) and sorted"
SLOTS = 100  # at most, of a correlated order, as in RoTTA


Labels = Callable[[], Indices]  # one class for each sample, asked for where an order needs them


def _no_labels() -> Indices:
    raise ValueError("an order by class needs one label a sample, and there is none")


class Order:
    """A rule for the order of a set; it depends on its own options and the labels alone."""

    by_class: ClassVar[bool] = False  # whether its beginning is of few classes

    @property
    def words(self) -> str:
        """This order in words, for a protocol."""
        raise NotImplementedError

    def permutation(self, total: int, labels: Labels = _no_labels) -> Indices:
        """Return the place in the set of each sample of the stream."""
        raise NotImplementedError


@dataclass(frozen=True)
class Shuffled(Order):
    """All samples shuffled by the seed."""

    seed: int = 0

    @property
    def words(self) -> str:  # noqa: D102
        return f"shuffled by seed {self.seed}"

    def permutation(self, total: int, labels: Labels = _no_labels) -> Indices:  # noqa: D102
        return np.random.default_rng(self.seed).permutation(total).astype(np.int64)


@dataclass(frozen=True)
class Stored(Order):
    """The order of the set itself."""

    @property
    def words(self) -> str:  # noqa: D102
        return "in the order stored"

    def permutation(self, total: int, labels: Labels = _no_labels) -> Indices:  # noqa: D102
        return np.arange(total, dtype=np.int64)


@dataclass(frozen=True)
class SortedByClass(Order):
    """One class after another, each shuffled by the seed."""

    by_class: ClassVar[bool] = True

    seed: int = 0

    @property
    def words(self) -> str:  # noqa: D102
        return f"sorted by class, each class shuffled by seed {self.seed}"

    def permutation(self, total: int, labels: Labels = _no_labels) -> Indices:  # noqa: D102
        shuffled = np.random.default_rng(self.seed).permutation(total).astype(np.int64)
        return shuffled[np.argsort(labels()[shuffled], kind="stable")]


@dataclass(frozen=True)
class Correlated(Order):
    """Classes come in bursts, as in NOTE (Gong et al. 2022) and RoTTA (Yuan et al. 2023).

    Each class is spread over slots of the stream by proportions drawn from a Dirichlet distribution; in a slot, classes
    come one after another in a random order.

    Args:
        concentration: of the Dirichlet distribution; the smaller, the fewer slots hold all of a class.
    """

    by_class: ClassVar[bool] = True
    concentration: float = 0.1  # RoTTA's choice
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.concentration > 0:
            raise ValueError(f"concentration {self.concentration}: give a number above 0, such as 0.1")

    @property
    def words(self) -> str:  # noqa: D102
        return f"correlated by class, Dirichlet concentration {self.concentration:g}, seed {self.seed}"

    def permutation(self, total: int, labels: Labels = _no_labels) -> Indices:  # noqa: D102
        random = np.random.default_rng(self.seed)
        shuffled = random.permutation(total).astype(np.int64)
        known = labels()[shuffled]
        classes = np.unique(known)
        count = min(len(classes), SLOTS)
        slots: list[list[Indices]] = [[] for _ in range(count)]
        for label in classes:
            own = shuffled[known == label]
            shares = np.cumsum(random.dirichlet([self.concentration] * count))[:-1]
            for slot, part in zip(slots, np.split(own, np.rint(shares * len(own)).astype(np.int64)), strict=True):
                slot.append(part)
        return np.concatenate([slot[i] for slot in slots for i in random.permutation(len(slot))])


def by_name(word: str, seed: int = 0) -> Order:
    """Return an order by its name: shuffled, stored, correlated:C or sorted."""
    name, _, number = word.partition(":")
    if name == "correlated" and number:
        try:
            return Correlated(float(number), seed)
        except ValueError:
            pass
    plain: dict[str, Order] = {"shuffled": Shuffled(seed), "stored": Stored(), "sorted": SortedByClass(seed)}
    if word not in plain:
        raise ValueError(f"no order {word!r}; there are {WORDS}")
    return plain[word]
