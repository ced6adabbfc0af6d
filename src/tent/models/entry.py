"""An entry of the zoo: a model and what must be known to use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from tent.data.preprocess import Preprocess


@dataclass(frozen=True)
class Entry:
    """A model and what must be known to use it."""

    name: str
    model: nn.Module
    preprocess: Preprocess
    classes: int | None = None  # None: as many as it answers with
    class_names: Sequence[str] | None = None
    weights: str = ""  # where they come from, in words
    training: Mapping[str, Any] | None = None  # on what data and how long, where its card says so
    class_ids: Sequence[str] | None = None  # other names of the classes, such as ImageNet's synsets
    preprocess_origin: str = "on its card"  # who says that it is so
