"""Whose statistics normalise a batch norm: the source's, the batch's, or something between."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

FEW_SAMPLES = 4  # measured (docs/concepts.md): below, a batch's own statistics do a classifier harm or no good
USUAL_BATCH = 64  # measured: below, a prior gains 4 points and more of error; here 2, and this is what papers use


@dataclass(frozen=True, eq=False)
class NormLayer:
    """A batch or instance norm of the model: its name, and the statistics that it was trained with."""

    name: str
    mean: Tensor  # (channels,)
    var: Tensor | None
    instances: bool = False  # an instance norm, which normalises every sample by itself


class Stats:
    """A choice of statistics: the batch's own have a share, and the prior's (the source's or remembered) the rest."""

    remembers: ClassVar[bool] = False  # whether what was used becomes the prior of the next batch

    def share(self, layer: NormLayer, batch: Tensor) -> float | Tensor:
        """Return the weight in [0, 1] of the batch's own statistics: one for the layer, or one a channel.

        Args:
            batch: what the layer is given, (samples, channels, ...).
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Source(Stats):
    """The statistics that the model was trained with."""

    def share(self, layer: NormLayer, batch: Tensor) -> float:  # noqa: D102
        return 0.0


@dataclass(frozen=True)
class Batch(Stats):
    """The statistics of the test batch alone."""

    def share(self, layer: NormLayer, batch: Tensor) -> float:  # noqa: D102
        return 1.0


@dataclass(frozen=True)
class Blend(Stats):
    """A fixed blend: `weight` of the batch's statistics, the rest the source's."""

    weight: float = 0.5

    def __post_init__(self) -> None:
        _within("Blend weight", self.weight)

    def share(self, layer: NormLayer, batch: Tensor) -> float:  # noqa: D102
        return self.weight


@dataclass(frozen=True)
class Prior(Stats):
    """The source's statistics counted as `samples` more samples of the batch (Schneider et al. 2020, eq. 3)."""

    samples: float = 16  # the paper's choice for ImageNet-C at small batches

    def __post_init__(self) -> None:
        if not self.samples >= 0:
            raise ValueError(f"Prior samples must be 0 or more, got {self.samples}")

    def share(self, layer: NormLayer, batch: Tensor) -> float:  # noqa: D102
        samples = 1 if layer.instances else len(batch)
        return samples / (self.samples + samples)


@dataclass(frozen=True)
class Running(Stats):
    """A running average over the stream, begun at the source's statistics: for small batches."""

    momentum: float = 0.1  # as a batch norm's own
    remembers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _within("Running momentum", self.momentum)

    def share(self, layer: NormLayer, batch: Tensor) -> float:  # noqa: D102
        return self.momentum


def for_batch_size(samples: int) -> Stats:
    """Return the statistics for batches of so many samples, for one who has not chosen: a prior where they are few."""
    if samples < 1:
        raise ValueError(f"a batch has 1 sample or more, got {samples}")
    return Batch() if samples >= USUAL_BATCH else Prior(16 if samples >= FEW_SAMPLES else 4)


PLAIN: dict[str, Callable[[], Stats]] = {"source": Source, "batch": Batch}
WEIGHTED: dict[str, Callable[..., Stats]] = {"blend": Blend, "prior": Prior, "running": Running}


def by_name(word: str) -> Stats:
    """Return statistics by their name, with a number after a colon where they take one: batch, or blend:0.5."""
    name, _, number = word.partition(":")
    try:
        chosen, weights = (WEIGHTED[name], [float(number)]) if number else ({**PLAIN, **WEIGHTED}[name], [])
    except (KeyError, ValueError):
        choices = "source, batch, blend:0.5, prior:16 and running:0.1"
        raise ValueError(f"no statistics {word!r}; there are {choices}") from None
    return chosen(*weights)


def _within(what: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{what} must be in [0, 1], got {value}")
