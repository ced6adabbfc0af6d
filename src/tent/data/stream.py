"""Ordered batches of inputs, labels and their domain: the same for every method, the same every time."""

import copy
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from tent.data.order import Indices, Order, Shuffled
from tent.data.prefetch import read_ahead
from tent.data.preprocess import Preprocess
from tent.data.samples import Samples
from tent.data.sets.images import Images
from tent.data.stream_source import Source, check_domains, check_options, class_labels, fork_sources, read_batch
from tent.engine.structures import map_tensors

AHEAD = 2  # batches: one that is ready, and one that is being read
MIXED = "mixed"  # the domain of a batch of a mixture


class Batch(NamedTuple):
    """What a model is called with (a tensor, a tuple, a dict), the labels if known, and where both come from."""

    inputs: Any
    labels: Any | None
    domain: str

    def to(self, device: torch.device) -> "Batch":
        """Return it with its inputs on a device; labels stay where they are."""
        return self._replace(inputs=map_tensors(self.inputs, lambda tensor: tensor.to(device)))


class Stream:
    """A set in batches, in an order that all methods share; nothing is read before it is asked for.

    Args:
        images: a set of images, or Samples of any structure, or a plain sequence of such.
        order: one of `tent.data.order`.
        preprocess: what is done to images; samples come prepared, and a set of crops is not cropped again.
        domain: what its batches are named by; the name of the set unless given.
    """

    def __init__(
        self,
        images: Images | Samples | Sequence[Any],
        batch_size: int = 128,
        order: Order = Shuffled(0),  # noqa: B008 (frozen)
        preprocess: Preprocess | None = None,
        domain: str | None = None,
    ) -> None:
        data = images if isinstance(images, Images | Samples) else Samples(images)
        check_options(data, order)
        total, source = len(data), Source.make(data, preprocess, domain)
        self._sources: tuple[Source, ...] = (source,)
        self._source: Indices = np.zeros(total, dtype=np.int64)
        self._index: Indices = order.permutation(total, lambda: class_labels(data))
        self._ends: Indices = _ends(total, batch_size)
        self.name, self.classes, self.order_words = data.name, data.classes, order.words
        self.preprocess = source.preprocess  # as it is done to this set: of the first one, where streams are joined
        kind, words = ("images", f"; {self.preprocess.words}") if isinstance(data, Images) else ("samples", "")
        self.protocol = f"{data.name}: {total:,} {kind}, {order.words}, batches of {batch_size}{words}"

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self._ends)

    @property
    def total(self) -> int:
        """The number of samples."""
        return len(self._index)

    @property
    def indices(self) -> Indices:
        """The index, in its own set, of each sample of the stream."""
        return self._index

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains of its samples, in the order that they are first met."""
        _, first = np.unique(self._source, return_index=True)
        return tuple(dict.fromkeys(self._sources[int(self._source[place])].domain for place in np.sort(first)))

    @property
    def labelled(self) -> bool:
        """Whether batches come with labels."""
        return self._sources[0].data.labelled

    @property
    def batch_size(self) -> int:
        """The number of samples in the largest batch."""
        return int(np.diff(self._ends, prepend=0).max())

    @property
    def sha256(self) -> tuple[str, ...]:
        """The hash of every set in it."""
        return tuple(source.data.sha256 for source in self._sources)

    def __iter__(self) -> Iterator[Batch]:
        for number in range(len(self)):
            batch = self._read(self._sources, number)
            if batch is not None:
                yield batch

    def prefetch(self, batches: int | None = None) -> Generator[Batch, None, None]:
        """Return the same batches in the same order, read in a thread while those before are worked on.

        Close it to stop the thread; a loop that ends, also by an exception, does.

        Args:
            batches: how many are held ahead at most; 2 unless given, or 0, without a thread, where no file is decoded.
        """
        if batches is None:
            batches = AHEAD if any(source.decodes for source in self._sources) else 0
        if batches < 0:
            raise ValueError(f"prefetch {batches}: give the batches to hold ahead, or 0 to read each in its turn")
        return self._read_ahead(batches) if batches else (batch for batch in self)

    def batch_domains(self, number: int) -> list[str]:
        """Return the domain of each sample of a batch."""
        start = int(self._ends[number - 1]) if number else 0
        return [self._sources[source].domain for source in self._source[start : self._ends[number]].tolist()]

    def where(self, place: int) -> str:
        """Return where the sample at this place of the stream lies on disk."""
        return self._sources[int(self._source[place])].data.where(int(self._index[place]))

    def first(self, n: int) -> "Stream":
        """Return the stream's first n samples, in the same batches."""
        if not 1 <= n <= self.total:
            raise ValueError(f"the first {n:,} of {self.total:,} images: choose from 1 to {self.total:,}")
        cut = _copy(self, self._source[:n], self._index[:n], np.unique(np.minimum(self._ends, n)))
        cut.protocol = f"the first {n:,} of [{self.protocol}]"
        return cut

    def after(self, batches: int) -> "Stream":
        """Return what follows after so many of the batches that it yields, in the same batches."""
        first = [*self.readable, len(self)][batches]
        start = int(self._ends[first - 1]) if first else 0
        return _copy(self, self._source[start:], self._index[start:], self._ends[first:] - start)

    def join_tail(self, fewest: int) -> "Stream":
        """Return it with a last batch of fewer samples made part of the one before."""
        short = len(self) > 1 and self._ends[-1] - self._ends[-2] < fewest
        return _copy(self, self._source, self._index, np.delete(self._ends, -2) if short else self._ends)

    @property
    def readable(self) -> list[int]:
        """The numbers of the batches that it yields: all but those known to have no image that can be read."""
        parts = enumerate(zip([0, *self._ends[:-1]], self._ends, strict=True))
        return [i for i, (a, b) in parts if self._sources[int(self._source[a])].readable(self._index[a:b])]

    @staticmethod
    def sequence(streams: Sequence["Stream"], name: str | None = None) -> "Stream":
        """Return the domains one after another, each in its own batches: a continual stream."""
        joined = _join(streams)
        joined.name = name or ", then ".join(stream.name for stream in streams)
        joined.order_words = f"{len(streams)} domains one after another, each {_shared_order(streams)}"
        joined.protocol = f"one after another: {_list_protocols(streams)}"
        return joined

    @staticmethod
    def mixed(streams: Sequence["Stream"], seed: int = 0, batch_size: int | None = None) -> "Stream":
        """Return the samples of all streams shuffled together, so that every batch is a mixture of domains.

        Args:
            batch_size: of the mixture; that of the first stream unless given.
        """
        joined = _join(streams)
        size = streams[0].batch_size if batch_size is None else batch_size
        turns, ends = Shuffled(seed).permutation(joined.total), _ends(joined.total, size)
        mixture = _copy(joined, joined._source[turns], joined._index[turns], ends)
        mixture._sources = tuple(source._replace(mixed=True) for source in joined._sources)
        mixture.name = " with ".join(stream.name for stream in streams)
        mixture.order_words = f"{len(streams)} domains mixed, shuffled by seed {seed}"
        mixture.protocol = f"mixed, shuffled by seed {seed}, batches of {size}: {_list_protocols(streams)}"
        return mixture

    @staticmethod
    def recurring(streams: Sequence["Stream"], times: int) -> "Stream":
        """Return the domains one after another, and all of that again, so many times in all."""
        if times < 1:
            raise ValueError(f"times {times}: streams recur 1 time or more")
        joined = _join(list(streams) * times)
        joined.name = f"{times} times {', then '.join(stream.name for stream in streams)}"
        joined.order_words = f"{len(streams)} domains one after another, {times} times, each {_shared_order(streams)}"
        joined.protocol = f"one after another, {times} times: {_list_protocols(streams)}"
        return joined

    def _read(self, sources: Sequence[Source], number: int) -> Batch | None:
        """Return a batch, or None if no image of it can be read."""
        start, end = int(self._ends[number - 1]) if number else 0, int(self._ends[number])
        inputs, labels = read_batch(sources, self._source[start:end], self._index[start:end], self.name)
        source = sources[int(self._source[start])]
        return None if inputs is None else Batch(inputs, labels, MIXED if source.mixed else source.domain)

    def _read_ahead(self, batches: int) -> Generator[Batch, None, None]:
        forks = fork_sources(self._sources)

        def read(number: int) -> tuple[Batch | None, list[dict[int, str]]]:
            batch = self._read(forks, number)
            return batch, [dict(fork.unreadable) for fork in forks]

        for batch, notes in read_ahead(read, len(self), batches):
            for source, known in zip(self._sources, notes, strict=True):  # in its turn, as if it had been read now
                source.unreadable.update(known)
            if batch is not None:
                yield batch


def _join(streams: Sequence[Stream]) -> Stream:
    if not streams:
        raise ValueError("no streams were given; join at least one")
    if len(classes := {stream.classes for stream in streams}) > 1:
        raise ValueError(f"streams of {' and '.join(map(str, classes))} classes cannot be joined into one")
    if len({stream.labelled for stream in streams}) > 1:
        raise ValueError("streams with and without labels cannot be joined into one")
    sources = np.cumsum([0] + [len(stream._sources) for stream in streams[:-1]])
    totals = np.cumsum([0] + [stream.total for stream in streams[:-1]])
    joined = _copy(
        streams[0],
        np.concatenate([stream._source + shift for stream, shift in zip(streams, sources, strict=True)]),
        np.concatenate([stream._index for stream in streams]),
        np.concatenate([stream._ends + shift for stream, shift in zip(streams, totals, strict=True)]),
    )
    joined._sources = tuple(source for stream in streams for source in stream._sources)
    check_domains(joined._sources)
    return joined


def _copy(stream: Stream, source: Indices, index: Indices, ends: Indices) -> Stream:
    new = copy.copy(stream)
    new._source, new._index, new._ends = source, index, ends
    return new


def _ends(total: int, batch_size: int) -> Indices:
    if batch_size < 1:
        raise ValueError(f"batch_size {batch_size}: a batch has at least one image")
    return np.minimum(np.arange(batch_size, total + batch_size, batch_size, dtype=np.int64), total)


def _shared_order(streams: Sequence[Stream]) -> str:
    words = dict.fromkeys(stream.order_words for stream in streams)
    return next(iter(words)) if len(words) == 1 else "in its own order"


def _list_protocols(streams: Sequence[Stream]) -> str:
    return " ".join(f"[{stream.protocol}]" for stream in streams)
