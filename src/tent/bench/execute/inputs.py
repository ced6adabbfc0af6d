"""What a case is run on: its model and its stream, opened once a process, and the hashes that pin it to them."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tent.bench.case import Case, Data
from tent.data import order
from tent.data.corrupted.corrupted_images import CorruptedImages
from tent.data.crop_cache import keep_crops
from tent.data.data_folder import crop_folder, data_folder
from tent.data.load import load
from tent.data.segments.label_maps import LabelMapImages
from tent.data.sets.class_names import same_names
from tent.data.sets.images import Each, Images, Pixels
from tent.data.stream import Stream
from tent.engine.source_model import fingerprint
from tent.models import zoo
from tent.models.entry import Entry


def load_entry(model: str, weights: str | None = None) -> Entry:
    """Return a model of the zoo; it is never written to, so all cases of a process share it."""
    return _load_entry(model, weights, data_folder(), os.getcwd())[0]


def clear_cache() -> None:
    """Open everything afresh from here on, as it lies on disk now."""
    _load_entry.cache_clear()
    _load_images.cache_clear()


def load_images(data: Data) -> Images:
    """Return the images of a set."""
    return _load_images(data.name, data.split, data.corruption, data.severity, data_folder(), os.getcwd())


def pin_case(case: Case, weights: str | None = None) -> Case:
    """Return the case tied to the hashes of its model, data and files; others than it is tied to are refused."""
    entry, state = _load_entry(case.model, weights, data_folder(), os.getcwd())
    for data in case.data:
        _check_answerable(entry, load_images(data), data)
    code = {what: hashlib.sha256(Path(file).expanduser().read_bytes()).hexdigest() for what, file in case.files.items()}
    found = case.pin(state, lambda data: load_images(data).sha256, code)
    _check_same(case, found)
    return found


def count_images(case: Case) -> int:
    """Return the number of images that a case is answered on."""
    sizes = [data.part[1] - data.part[0] if data.part else len(load_images(data)) for data in case.data]
    times = int(case.domains.partition(":")[2] or 1)
    return times * sum(min(size, case.images or size) for size in sizes)


def write_crops_of(cases: Iterable[Case]) -> None:
    """Keep the crops that corrupted sets share before any case runs: a broken image is one error then, not many."""
    for data in dict.fromkeys(data for case in cases for data in (*case.data, case.fit, case.prepare)):
        images = load_images(data) if data else None
        if isinstance(images, CorruptedImages):
            images.write_crops()


def build_stream(case: Case, data: Sequence[Data], entry: Entry) -> Stream:
    """Return the batches of some data in a case's order, prepared as the model wants them."""
    once = {each: _build_domain(case, each, entry, place) for place, each in enumerate(dict.fromkeys(data))}
    streams = [once[each] for each in data]  # one that comes again is the same domain
    word, _, times = case.domains.partition(":")
    if word == "mixed":
        return Stream.mixed(streams, case.seed, case.batch_size)
    if word == "recurring":
        return Stream.recurring(streams, int(times))
    return streams[0] if len(streams) == 1 else Stream.sequence(streams)


def _build_domain(case: Case, data: Data, entry: Entry, place: int) -> Stream:
    images, own, preprocess = load_images(data), order.by_name(case.order, case.seed), entry.preprocess
    if own.by_class and place:  # bursts that are drawn anew: types of one set share their labels
        own = order.by_name(case.order, int(np.random.SeedSequence((case.seed, place)).generate_state(1)[0]))
    if data.size is not None:
        preprocess = replace(preprocess, size=(data.size, data.size), crop=None, interpolation="bilinear")
    limit = case.images or len(images)
    few = limit < len(images)
    if data.part is not None:
        images, own = Part(images, case.seed, *data.part), order.Stored()
    elif few and own.by_class:
        images = Part(images, case.seed, 0, limit)  # of all classes: the first in an order by class are of few
    elif not few:  # few images are decoded sooner than all of the set
        images = keep_crops(images, preprocess, crop_folder(data_folder()))
    stream = Stream(images, case.batch_size, own, preprocess, data.label)
    return stream.first(limit) if limit < stream.total else stream


class Part(Images):
    """A part of a set in its shuffled order, the images [first, end) of it."""

    def __init__(self, whole: Images, seed: int, first: int, end: int) -> None:
        if end > len(whole):
            raise ValueError(f"{whole.name}: images {first:,} to {end:,} of {len(whole):,}; ask for fewer")
        self._whole = whole
        self._rows = order.Shuffled(seed).permutation(len(whole))[first:end]
        name = f"images {first:,} to {end:,} of {whole.name} shuffled by seed {seed}"
        super().__init__(name, whole.targets(self._rows), whole.classes, whole.class_names)
        self.cropped = whole.cropped

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def decodes(self) -> bool:
        """Whether the whole set does."""
        return self._whole.decodes

    def fetch(self, indices: NDArray[np.int64], each: Each | None = None) -> Pixels | list[Pixels]:
        """Return the images at these places of the part."""
        return self._whole.fetch(self._rows[indices], each)

    def where(self, index: int) -> str:
        """Return where an image of the part lies."""
        return self._whole.where(int(self._rows[index]))


# names may be paths, so the folder that they begin at is a part of what was opened
@lru_cache(maxsize=16)  # a suite has one large model, or a dozen small ones
def _load_entry(model: str, weights: str | None, root: Path, here: str) -> tuple[Entry, str]:
    entry = zoo.load(model, weights)
    return entry, fingerprint(entry.model)


@lru_cache(maxsize=128)  # mapped, so of no weight
def _load_images(name: str, split: str, corruption: str | None, severity: int | None, root: Path, here: str) -> Images:
    given: dict[str, Any] = {"corruption": corruption, "severity": severity}
    return load(name, split, root, **{key: value for key, value in given.items() if value is not None})


def _check_answerable(entry: Entry, images: Images, data: Data) -> None:
    if not images.labelled:
        raise ValueError(f"{images.name}: its labels are not known, and a benchmark needs them")
    if (":" in data.name and not isinstance(images, LabelMapImages)) or None in (entry.classes, images.classes):
        return  # only a set that is known by name, or has a class map, has all of its classes for certain
    if entry.classes != images.classes:
        raise ValueError(
            f"{images.name} has {images.classes} classes, but {entry.name} answers with {entry.classes};"
            " name a model that was made for it with --model, and its --weights"
        )
    own, theirs = entry.class_names, images.class_names
    if not own or not theirs or same_names(own, theirs):
        return
    # other words may mean the same classes (cat, tabby cat), the same words in another order never do
    if isinstance(images, LabelMapImages) or same_names(sorted(own), sorted(theirs)):
        place, (name, other) = next(
            (i, pair) for i, pair in enumerate(zip(own, theirs, strict=True)) if len({*pair}) > 1
        )
        raise ValueError(
            f"{images.name}: its class {place} is {other!r}, but {entry.name}'s is {name!r}; name a model that was made"
            " for these classes with --model, or the set in classes that both have, such as carla-7"
        )


def _check_same(case: Case, found: Case) -> None:
    if case.weights not in ("", found.weights):
        raise ValueError(f"{case.model}: its weights are {found.weights[:12]}, not {case.weights[:12]} as in the case")
    for asked, data in zip(case.data, found.data, strict=True):
        if asked.sha256 not in ("", data.sha256):
            name, own, other = load_images(data).name, data.sha256[:12], asked.sha256[:12]
            raise ValueError(f"{name}: its hash is {own}, not {other} as in the case")
    for what, digest in case.code.items():
        if digest != found.code.get(what):
            raise ValueError(f"{getattr(case, what)}: its file has changed since this run began; run it again")
