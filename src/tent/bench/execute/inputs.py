"""What a case is run on: its model and its images, opened once a process, and the hashes that pin it to them."""

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tent.bench.case import Case, Data
from tent.data import place
from tent.data.images import Each, Images, Pixels
from tent.data.load import load
from tent.data.order import Order, Shuffled, Stored
from tent.data.stream import Stream
from tent.delta import fingerprint
from tent.models import zoo
from tent.models.entry import Entry


def entry_of(model: str, weights: str | None = None) -> Entry:
    """Return a model of the zoo; it is never written to, so all cases of a process share it."""
    return _loaded(model, weights, place.root(), os.getcwd())[0]


def forget() -> None:
    """Open everything afresh from here on, as it lies on disk now."""
    _loaded.cache_clear()
    _opened.cache_clear()


def images_of(data: Data) -> Images:
    """Return the images of a set."""
    return _opened(data.name, data.split, data.corruption, data.severity, place.root(), os.getcwd())


def pinned(case: Case, weights: str | None = None) -> Case:
    """Return the case tied to the hashes of its model and data; another hash than it is tied to already is refused."""
    entry, images = entry_of(case.model, weights), images_of(case.data)
    _answerable(entry, images, case)
    learnt = images_of(case.fit).sha256 if case.fit else ""
    state = _loaded(case.model, weights, place.root(), os.getcwd())[1]
    found = case.pinned(state, images.sha256, learnt)
    if case.weights not in ("", found.weights):
        raise ValueError(f"{case.model}: its weights are {found.weights[:12]}, not {case.weights[:12]} as in the case")
    if case.data.sha256 not in ("", found.data.sha256):
        raise ValueError(
            f"{images.name}: its hash is {found.data.sha256[:12]}, not {case.data.sha256[:12]} as in the case"
        )
    return found


def count(case: Case) -> int:
    """Return the number of images that a case is answered on."""
    first, end = case.data.part or (0, len(images_of(case.data)))
    return min(end - first, case.images or end - first)


def stream_of(case: Case, data: Data, entry: Entry) -> Stream:
    """Return the batches of a case's data, in the order of its seed, prepared as the model wants them."""
    images, preprocess = images_of(data), entry.preprocess
    order: Order = Shuffled(case.seed)
    if data.size is not None:
        preprocess = replace(preprocess, size=(data.size, data.size), crop=None, interpolation="bilinear")
    if data.part is not None:
        images, order = Part(images, case.seed, *data.part), Stored()
    stream = Stream(images, case.batch_size, order, preprocess)
    return stream.first(case.images) if case.images and case.images < stream.total else stream


class Part(Images):
    """A part of a set in its shuffled order, the images [first, end) of it."""

    def __init__(self, whole: Images, seed: int, first: int, end: int) -> None:
        if end > len(whole):
            raise ValueError(f"{whole.name}: images {first:,} to {end:,} of {len(whole):,}; ask for fewer")
        self._whole = whole
        # the same permutation as a stream's of all of it
        self._rows = np.random.default_rng(seed).permutation(len(whole))[first:end].astype(np.int64)
        name = f"images {first:,} to {end:,} of {whole.name} shuffled by seed {seed}"
        super().__init__(name, whole.targets(self._rows), whole.classes, whole.class_names)

    def __len__(self) -> int:
        return len(self._rows)

    def fetch(self, indices: NDArray[np.int64], each: Each | None = None) -> Pixels | list[Pixels]:
        """Return the images at these places of the part."""
        return self._whole.fetch(self._rows[indices], each)

    def where(self, index: int) -> str:
        """Return where an image of the part lies."""
        return self._whole.where(int(self._rows[index]))


# names may be paths, so the folder that they begin at is a part of what was opened
@lru_cache(maxsize=16)  # a suite has one large model, or a dozen small ones
def _loaded(model: str, weights: str | None, root: Path, here: str) -> tuple[Entry, str]:
    entry = zoo.load(model, weights)
    return entry, fingerprint(entry.model)


@lru_cache(maxsize=128)  # mapped, so of no weight
def _opened(name: str, split: str, corruption: str | None, severity: int | None, root: Path, here: str) -> Images:
    given: dict[str, Any] = {"corruption": corruption, "severity": severity}
    return load(name, split, root, **{key: value for key, value in given.items() if value is not None})


def _answerable(entry: Entry, images: Images, case: Case) -> None:
    if not images.labelled:
        raise ValueError(f"{images.name}: its labels are not known, and a benchmark needs them")
    if ":" in case.data.name or entry.classes is None or images.classes is None:
        return  # only a set that is known by name has all of its classes for certain
    if entry.classes != images.classes:
        raise ValueError(
            f"{images.name} has {images.classes} classes, but {entry.name} answers with {entry.classes};"
            " name a model that was made for it with --model, and its --weights"
        )
