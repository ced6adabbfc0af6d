"""A set that a stream reads from, with what is done to it and the domain that it is."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from tent.data.crop_cache import KeptCrops
from tent.data.order import Indices, Order
from tent.data.preprocess import Preprocess, stack
from tent.data.samples import Samples
from tent.data.segments.label_maps import LabelMapImages
from tent.data.sets.images import Images
from tent.engine.structures import list_tensors, map_tensors


class Source(NamedTuple):
    """A set that a stream reads from."""

    data: Images | Samples
    preprocess: Preprocess
    domain: str
    mixed: bool = False  # whether its samples share batches with other sources'

    @staticmethod
    def make(data: Images | Samples, preprocess: Preprocess | None, domain: str | None) -> "Source":
        """Return the source of a set: one that was cropped when it was made is not cropped again.

        ImageNet-C is published as crops of 224 pixels, and measured on them as they are; a network of another input
        size sees them resized to that size.
        """
        if preprocess is not None and isinstance(data, Samples):
            raise ValueError(f"{data.name}: preprocess is for images; samples come as the model takes them")
        own = preprocess or Preprocess()
        if isinstance(data, KeptCrops):
            data.check(own)
        fitted = own.for_cropped() if isinstance(data, Images) and data.cropped else own
        return Source(data, fitted, domain or data.name)

    def read(self, index: Indices) -> tuple[Any, Any]:
        """Return the inputs and the labels at these places of the set; no inputs if none of them can be read."""
        if isinstance(self.data, Samples):
            return self.data.read(index)
        preprocess = self.preprocess
        if isinstance(self.data, KeptCrops):  # only scaled: nothing is resized twice
            preprocess = replace(preprocess, size=None, crop=None)
        keeps = preprocess.keeps(self.data.extent)
        pixels = self.data.fetch(index) if keeps else self.data.fetch(index, preprocess.shape)
        index = self.data.readable(index)
        if not len(index):
            return None, None
        x = preprocess(pixels) if keeps else preprocess.scale(stack(list(pixels)))
        if isinstance(self.data, LabelMapImages) and self.data.labelled:
            return x, torch.from_numpy(self.data.targets(index, None if keeps else preprocess.shape_map))
        y = self.data.targets(index) if self.data.labelled else None
        if y is not None and y.ndim > 1 and preprocess.crop is not None:
            raise ValueError(f"{self.data.name}: images would be cropped and their label maps not; leave the crop out")
        return x, None if y is None else torch.from_numpy(y)

    @property
    def unreadable(self) -> dict[int, str]:
        """What was wrong with each image that was left out, by its place; of samples none is."""
        return {} if isinstance(self.data, Samples) else self.data.unreadable

    @property
    def decodes(self) -> bool:
        """Whether it reads files of images, so that it pays to read ahead."""
        return isinstance(self.data, Images) and self.data.decodes

    def readable(self, index: Indices) -> bool:
        """Whether any of these can be read, as far as that is known."""
        return isinstance(self.data, Samples) or len(self.data.readable(index)) > 0


def fork_sources(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Return the sources for a thread to read ahead from; a set that comes again is the same one there too."""
    forks = {id(source.data): source.data.fork() for source in sources if isinstance(source.data, Images)}
    return tuple(source._replace(data=forks.get(id(source.data), source.data)) for source in sources)


def read_batch(sources: Sequence[Source], source: Indices, index: Indices, name: str) -> tuple[Any, Any]:
    """Return the inputs and the labels of a batch, each of whose samples has a source and a place in its set."""
    used = np.unique(source)
    if len(used) == 1:
        return sources[int(used[0])].read(index)
    places = [np.flatnonzero(source == each) for each in used]
    parts = [sources[int(each)].read(index[own]) for each, own in zip(used, places, strict=True)]
    back = torch.from_numpy(np.argsort(np.concatenate(places), kind="stable"))
    try:
        return _merge([inputs for inputs, _ in parts], back), _merge([labels for _, labels in parts], back)
    except RuntimeError:
        sizes = {tuple(t.shape[1:]) for inputs, _ in parts for t in list_tensors(inputs)}
        raise ValueError(f"{name}: one batch has images of {sizes}; preprocess all to one size") from None


def _merge(parts: Sequence[Any], back: torch.Tensor) -> Any:
    """Return the same structure with the tensors of all parts joined, and put back into the stream's order."""
    tensors = zip(*[list_tensors(part) for part in parts], strict=True)
    return map_tensors(parts[0], lambda _: torch.cat(next(tensors))[back])


def check_domains(sources: Iterable[Source]) -> None:
    """Refuse two domains of one name; a set that comes again, prepared alike, is the same domain."""
    known: dict[str, Source] = {}
    for source in sources:
        first = known.setdefault(source.domain, source)
        if source.data is not first.data or source.preprocess != first.preprocess:
            problem = f"two different streams are named {source.domain!r} and could not be told apart"
            raise ValueError(f'{problem}; pass domain="..." to Stream to name each')


def check_options(data: Images | Samples, order: Order) -> None:
    """Refuse what no stream can be made of."""
    if not len(data):
        raise ValueError(f"{data.name}: no images to stream")
    if not isinstance(order, Order):
        raise TypeError(f"order {order!r}: give an order of tent.data.order, such as Shuffled(0) or Stored()")


def class_labels(data: Images | Samples) -> Indices:
    """Return the class of every sample, for an order that goes by them."""
    if data.labels is None:
        raise ValueError(f"{data.name}: an order by class needs one label a sample, and there is none")
    return data.labels
