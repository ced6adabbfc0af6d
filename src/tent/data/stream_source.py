"""A set that a stream reads from, with what is done to it and the domain that it is."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from tent.data.order import Indices
from tent.data.preprocess import Preprocess, stack
from tent.data.samples import Samples
from tent.data.segments.label_maps import LabelMapImages
from tent.data.sets.images import Images


class Source(NamedTuple):
    """A set that a stream reads from."""

    data: Images | Samples
    preprocess: Preprocess
    domain: str
    mixed: bool = False  # whether its samples share batches with other sources'

    def read(self, index: Indices) -> tuple[Any, Any]:
        """Return the inputs and the labels at these places of the set; no inputs if none of them can be read."""
        if isinstance(self.data, Samples):
            return self.data.read(index)
        keeps = self.preprocess.keeps(self.data.extent)
        pixels = self.data.fetch(index) if keeps else self.data.fetch(index, self.preprocess.shape)
        index = self.data.readable(index)
        if not len(index):
            return None, None
        x = self.preprocess(pixels) if keeps else self.preprocess.scale(stack(list(pixels)))
        if isinstance(self.data, LabelMapImages) and self.data.labelled:
            return x, torch.from_numpy(self.data.targets(index, None if keeps else self.preprocess.shape_map))
        y = self.data.targets(index) if self.data.labelled else None
        if y is not None and y.ndim > 1 and self.preprocess.crop is not None:
            raise ValueError(f"{self.data.name}: images would be cropped and their label maps not; leave the crop out")
        return x, None if y is None else torch.from_numpy(y)

    def readable(self, index: Indices) -> bool:
        """Whether any of these can be read, as far as that is known."""
        return isinstance(self.data, Samples) or len(self.data.readable(index)) > 0


def fit_preprocess(data: Images | Samples, preprocess: Preprocess) -> Preprocess:
    """Return what is done to a set's images: those that were cropped when the set was made are not cropped again.

    ImageNet-C is published as crops of 224 pixels, and measured on them as they are; a network of another input size
    sees them resized to that size.
    """
    return preprocess.for_cropped() if isinstance(data, Images) and data.cropped else preprocess


def check_domains(sources: Iterable[Source]) -> None:
    """Refuse two domains of one name; a set that comes again, prepared alike, is the same domain."""
    known: dict[str, Source] = {}
    for source in sources:
        first = known.setdefault(source.domain, source)
        if source.data is not first.data or source.preprocess != first.preprocess:
            problem = f"two different streams are named {source.domain!r} and could not be told apart"
            raise ValueError(f'{problem}; pass domain="..." to Stream to name each')
