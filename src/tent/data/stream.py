"""Ordered batches of images and labels: the same for every method, the same every time."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from tent.data.preprocess import Preprocess, stack
from tent.data.sets.images import Images

Batch = tuple[torch.Tensor, torch.Tensor | None]
Order = NDArray[np.int64]


class Stream:
    """A set of images in batches of `(x, y)`; y is None where labels are not known.

    Nothing is read before it is asked for, and the order depends on the seed alone, so it is shared by all methods.

    Args:
        seed: of the shuffle; None keeps the order as stored.
    """

    def __init__(
        self,
        images: Images,
        batch_size: int = 128,
        seed: int | None = 0,
        preprocess: Preprocess | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size {batch_size}: a batch has at least one image")
        if not len(images):
            raise ValueError(f"{images.name}: no images to stream")
        preprocess = preprocess or Preprocess()
        total = len(images)
        order = np.arange(total) if seed is None else np.random.default_rng(seed).permutation(total)
        said = "in the order stored" if seed is None else f"shuffled by seed {seed}"
        self._sources: tuple[tuple[Images, Preprocess], ...] = ((images, preprocess),)
        self._source: Order = np.zeros(total, dtype=np.int64)
        self._index: Order = order.astype(np.int64)
        self._ends: Order = _ends(total, batch_size)
        self.name, self.classes = images.name, images.classes
        self.protocol = f"{images.name}: {total:,} images, {said}, batches of {batch_size}; {preprocess.words}"

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self._ends)

    @property
    def total(self) -> int:
        """The number of images."""
        return len(self._index)

    @property
    def order(self) -> Order:
        """The index, in its own set, of each image of the stream."""
        return self._index

    @property
    def labelled(self) -> bool:
        """Whether batches come with labels."""
        return self._sources[0][0].labelled

    @property
    def batch_size(self) -> int:
        """The number of images in the largest batch."""
        return int(np.diff(self._ends, prepend=0).max())

    @property
    def sha256(self) -> tuple[str, ...]:
        """The hash of every set of images in it."""
        return tuple(images.sha256 for images, _ in self._sources)

    def __iter__(self) -> Iterator[Batch]:
        start = 0
        for end in self._ends:
            yield self._batch(self._source[start:end], self._index[start:end])
            start = end

    def where(self, place: int) -> str:
        """Return where the image at this place of the stream lies on disk."""
        return self._sources[int(self._source[place])][0].where(int(self._index[place]))

    def first(self, n: int) -> "Stream":
        """Return the stream's first n images, in the same batches."""
        if not 1 <= n <= self.total:
            raise ValueError(f"the first {n:,} of {self.total:,} images: choose from 1 to {self.total:,}")
        ends = np.unique(np.minimum(self._ends, n))
        protocol = f"the first {n:,} of [{self.protocol}]"
        return _built(self._sources, self._source[:n], self._index[:n], ends, self.name, protocol)

    @staticmethod
    def concat(streams: Sequence["Stream"], name: str | None = None) -> "Stream":
        """Return the streams one after another, each in its own batches: a continual stream."""
        _alike(streams)
        source, index = _joined(streams)
        shifts = np.cumsum([0] + [each.total for each in streams[:-1]])
        ends = np.concatenate([each._ends + shift for each, shift in zip(streams, shifts, strict=True)])
        protocol = f"one after another: {_listed(streams)}"
        return _built(_sources(streams), source, index, ends, name or _names(streams, ", then "), protocol)

    @staticmethod
    def interleave(
        streams: Sequence["Stream"], name: str | None = None, *, by: str = "image", batch_size: int | None = None
    ) -> "Stream":
        """Return the streams in turn, image by image (every batch is a mixture) or batch by batch.

        Args:
            batch_size: of the mixture, by image; that of the first stream unless given.
        """
        _alike(streams)
        if by not in ("image", "batch"):
            raise ValueError(f"by {by!r}: streams take turns by 'image' or by 'batch'")
        if by == "batch" and batch_size is not None:
            raise ValueError(f"batch_size {batch_size}: streams that take turns by batch keep their own batches")
        source, index = _joined(streams)
        turns, ends = _turns(streams, by)
        said = "in turn, batch by batch"
        if by == "image":
            size = batch_size or streams[0].batch_size
            ends, said = _ends(len(turns), size), f"in turn, image by image, batches of {size}"
        protocol = f"{said}: {_listed(streams)}"
        return _built(_sources(streams), source[turns], index[turns], ends, name or _names(streams, " with "), protocol)

    def _batch(self, source: Order, index: Order) -> Batch:
        used = np.unique(source)
        if len(used) == 1:
            return _read(self._sources[int(used[0])], index)
        parts = [(np.flatnonzero(source == each), self._sources[int(each)]) for each in used]
        read = [_read(pair, index[places]) for places, pair in parts]
        if len(sizes := {tuple(x.shape[1:]) for x, _ in read}) > 1:
            raise ValueError(f"{self.name}: one batch has images of {sizes}; preprocess all streams to one size")
        back = torch.from_numpy(np.argsort(np.concatenate([places for places, _ in parts]), kind="stable"))
        labels = [y for _, y in read if y is not None]
        return torch.cat([x for x, _ in read])[back], torch.cat(labels)[back] if labels else None


def _read(source: tuple[Images, Preprocess], index: Order) -> Batch:
    images, preprocess = source
    if preprocess.keeps(images.extent):
        x = preprocess(images.fetch(index))
    else:
        x = preprocess.scale(stack(list(images.fetch(index, preprocess.shape))))
    y = images.targets(index)
    return x, None if y is None else torch.from_numpy(y)


def _built(
    sources: tuple[tuple[Images, Preprocess], ...], source: Order, index: Order, ends: Order, name: str, protocol: str
) -> Stream:
    stream = Stream.__new__(Stream)
    stream._sources, stream._source, stream._index, stream._ends = sources, source, index, ends
    stream.name, stream.classes, stream.protocol = name, sources[0][0].classes, protocol
    return stream


def _ends(total: int, batch_size: int) -> Order:
    return np.minimum(np.arange(batch_size, total + batch_size, batch_size, dtype=np.int64), total)


def _alike(streams: Sequence[Stream]) -> None:
    if not streams:
        raise ValueError("no streams were given; join at least one")
    if len(classes := {stream.classes for stream in streams}) > 1:
        raise ValueError(f"streams of {' and '.join(map(str, classes))} classes cannot be joined into one")
    if len({stream.labelled for stream in streams}) > 1:
        raise ValueError("streams with and without labels cannot be joined into one")


def _sources(streams: Sequence[Stream]) -> tuple[tuple[Images, Preprocess], ...]:
    return tuple(source for stream in streams for source in stream._sources)


def _joined(streams: Sequence[Stream]) -> tuple[Order, Order]:
    shifts = np.cumsum([0] + [len(stream._sources) for stream in streams[:-1]])
    sources = [stream._source + shift for stream, shift in zip(streams, shifts, strict=True)]
    return np.concatenate(sources), np.concatenate([stream._index for stream in streams])


def _turns(streams: Sequence[Stream], by: str) -> tuple[Order, Order]:
    sizes = [np.diff(stream._ends, prepend=0) for stream in streams]
    turn = [np.arange(size.sum()) if by == "image" else np.repeat(np.arange(len(size)), size) for size in sizes]
    rank, which = np.concatenate(turn), np.repeat(np.arange(len(streams)), [stream.total for stream in streams])
    turns = np.lexsort((which, rank))  # stable: within a turn, the stream's own order
    changes = np.flatnonzero(np.diff(rank[turns]) | np.diff(which[turns]))
    return turns, np.append(changes + 1, len(turns))


def _names(streams: Sequence[Stream], word: str) -> str:
    return word.join(stream.name for stream in streams)


def _listed(streams: Sequence[Stream]) -> str:
    return " ".join(f"[{stream.protocol}]" for stream in streams)
