"""Samples of any structure, such as tokenised texts or images with label maps, for a stream to read."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import default_collate

from tent.data.sets.images import Labels
from tent.engine.structures import list_tensors

LABELS = ("labels", "label")  # in a sample that is a mapping


class Samples:
    """A sequence, or a torch Dataset, of inputs x, pairs (x, y), or mappings with or without labels.

    Args:
        collate: makes a batch of a list of samples; stacks their tensors unless given.
    """

    def __init__(
        self,
        samples: Sequence[Any],
        name: str = "samples",
        classes: int | None = None,
        collate: Callable[[list[Any]], Any] = default_collate,
    ) -> None:
        self.name, self.classes = name, classes
        self._samples, self._collate = samples, collate

    def __len__(self) -> int:
        return len(self._samples)

    @property
    def labelled(self) -> bool:
        """Whether samples come with labels."""
        return split_labels(self._samples[0])[1] is not None

    @cached_property
    def labels(self) -> Labels | None:
        """One class for each sample, or None where a sample has none or more than one."""
        found = getattr(self._samples, "targets", None)  # torchvision's way, without reading any image
        if found is None:
            found = [split_labels(self._samples[i])[1] for i in range(len(self))]
        sizes = {0 if label is None else np.asarray(label).size for label in found}
        return np.array([int(label) for label in found], dtype=np.int64) if sizes == {1} else None

    @cached_property
    def sha256(self) -> str:
        """The hash of every tensor of every sample."""
        digest = hashlib.sha256(str(len(self)).encode())
        for i in range(len(self)):
            for tensor in list_tensors(self._collate([self._samples[i]])):
                digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode() + tensor.numpy().tobytes())
        return digest.hexdigest()

    def where(self, index: int) -> str:
        """Return the name of the set and the sample's place in it."""
        return f"{self.name}[{index}]"

    def read(self, indices: NDArray[np.int64]) -> tuple[Any, Any]:
        """Return the inputs of the samples at these places as one batch, and their labels if they have any."""
        try:
            batch = self._collate([self._samples[int(i)] for i in indices])
        except RuntimeError as error:
            problem = f"{self.name}: samples do not fit into one batch ({error})"
            raise ValueError(f"{problem}; give Samples a collate function that pads them") from error
        inputs, labels = split_labels(batch)
        return inputs, labels if labels is None else torch.as_tensor(labels)


def split_labels(sample: Any) -> tuple[Any, Any]:
    """Return the inputs and the labels of a sample, or of a batch, in any of the forms that Samples takes."""
    if isinstance(sample, Mapping):
        inputs = {name: value for name, value in sample.items() if name not in LABELS}
        return inputs, next((sample[name] for name in LABELS if name in sample), None)
    if isinstance(sample, tuple | list):
        if len(sample) != 2:
            raise ValueError(f"a sample of {len(sample)} parts; bring x, (x, y), ((x1, x2), y) or a dict")
        return tuple(sample[0]) if isinstance(sample[0], list) else sample[0], sample[1]
    return sample, None
