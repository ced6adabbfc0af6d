"""The images of a run: which they are, what their labels mean to the model, and the order they come in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tent.analysis.features.image_pairs import PARTNER
from tent.data import Stream, load
from tent.data.segments.label_maps import LabelMapImages
from tent.data.sets.catalog import find_set
from tent.data.sets.class_names import match_classes, read_class_names, same_names
from tent.data.sets.file_order import choose_order
from tent.data.sets.folders import FolderImages
from tent.data.sets.images import Images
from tent.models.entry import Entry
from tent.norm import FEW_SAMPLES

SORTED = "sorted"  # in place of a file of class names


@dataclass(frozen=True)
class DataChoice:
    """Which images, with which labels, in which order."""

    name: str
    options: Mapping[str, Any] | None = None  # what the set needs besides: corruption, severity
    order: str | None = None  # None: as suits them
    seed: int = 0
    limit: int | None = None
    classes: str | None = None  # a file of the model's class names, or "sorted"
    unlabelled: bool = False
    strict: bool = False  # whether an unreadable image ends the run

    def open(self) -> Images:
        """Return the images, before their labels are matched to a model's classes."""
        images = load_images(self.name, dict(self.options or {}), self.unlabelled)
        if isinstance(images, FolderImages):
            images.skips = not self.strict
        if self.unlabelled:
            images.labels = images.classes = images.class_names = None
        return images

    def name_classes(self, entry: Entry, images: Images, classes: int) -> Entry:
        """Return the entry with the class names that the user gives, if any."""
        if self.classes is None:
            return entry
        names = sorted(_class_names(images)) if self.classes == SORTED else read_class_names(Path(self.classes))
        if len(names) != classes:
            what = f"{images.name}: its folders, sorted, are" if self.classes == SORTED else f"{self.classes}: holds"
            raise ValueError(f"{what} {len(names)} classes, but {entry.name} answers with {classes}")
        return replace(entry, class_names=names, class_ids=None)

    def match_labels(self, images: Images, entry: Entry, classes: int) -> None:
        """Turn labels into the model's own, by what the classes of both are called; refuse those that are not its."""
        if isinstance(images, LabelMapImages) and entry.class_names is not None:
            images.match(entry.class_names)
        elif isinstance(images, LabelMapImages) and images.classes not in (None, classes):
            raise ValueError(
                f"{images.name} has {images.classes} classes, and {entry.name} does not say what its {classes} are"
                " called; give --classes FILE (one name a line, in the order of the model's outputs), or --unlabelled"
            )
        if isinstance(images, LabelMapImages):
            images.refuse_ids_from(classes)
        names, labels = images.class_names, images.labels
        counted = entry.class_names is None and not self.is_folder  # a set's labels are numbers, as published
        if labels is None or names is None or counted or same_names(names, entry.class_names):
            if images.classes is not None and images.classes > classes:
                raise ValueError(f"{images.name} has {images.classes} classes, but {entry.name} answers with {classes}")
            return
        try:
            ids = images.class_ids if entry.class_ids else None  # better than names: each means one class
            found = _pick(images, ids) or _class_names(images)
            own = match_classes(found, classes, entry.class_names, entry.class_ids)
        except ValueError as error:
            raise ValueError(f"{images.name}: {error}") from None
        places = np.zeros(len(names), dtype=np.int64)
        places[np.unique(labels)] = own
        images.labels, images.classes = places[labels], classes
        images.class_names = None if entry.class_names is None else tuple(entry.class_names)

    @property
    def is_folder(self) -> bool:
        """Whether the images are a user's own files."""
        return Path(self.name).expanduser().is_dir()

    @property
    def is_own(self) -> bool:
        """Whether the images are a user's own files or arrays, whose order may mean something."""
        return self.is_folder or _is_array(self.name)

    def stream(self, images: Images, entry: Entry, batch: int) -> Stream:
        """Return the batches, prepared as the model wants them; a last one of very few images joins the one before."""
        word = self.order or (None if self.is_own else "shuffled")  # a published set may be stored class by class
        stream = Stream(images, batch, choose_order(images, word, self.seed), entry.preprocess)
        stream = stream.first(min(self.limit, stream.total)) if self.limit else stream
        return stream.join_tail(min(FEW_SAMPLES, batch))


def _class_names(images: Images) -> list[str]:
    """Return what the classes that there are images of are called; an empty folder is none."""
    return _pick(images, images.class_names)


def _pick(images: Images, names: Sequence[str] | None) -> list[str]:
    return [] if names is None or images.labels is None else [names[label] for label in np.unique(images.labels)]


def load_images(data: str, options: dict[str, Any], unlabelled: bool = False, split: str = "test") -> Images:
    """Return the images of a folder, of .npy files, or of a set's name; say so if there is none of these."""
    path, known = Path(data).expanduser(), find_set(data)
    bare = {"labelled": False} if unlabelled else {}
    if path.is_dir():
        return load(f"folder:{path}", **options | bare)
    if _is_array(data):
        return load(f"npy:{data}", **options)
    if path.is_file():
        raise ValueError(f"{data}: is a file; name the folder that it is in, or an .npy file")
    if known is None and ":" not in data:
        if path.name != data or data.startswith("."):
            raise FileNotFoundError(f"{data}: there is no such folder")
        raise ValueError(f"{data}: there is no such folder, and no set is called {data!r}; `tent data` lists the sets")
    maps = data.startswith("pairs:") or (known is not None and "labelled" in known.format.options)
    return load(data, split, **options | (bare if maps else {}))


def _is_array(data: str) -> bool:
    return data.split(",")[0].endswith(".npy")


def load_source_images(data: str) -> Images:
    """Return images like those that the model was trained on: a set's own training images, where it has some."""
    known = None if Path(data).is_dir() else find_set(data)
    return load_images(data, {}, unlabelled=True, split="train" if known and "train" in known.splits else "test")


def list_unreadable(images: Images) -> dict[str, str]:
    """Return the files of a set that were found to be unreadable, and why."""
    return {images.where(place): why for place, why in sorted(images.unreadable.items()) if why != PARTNER}


def describe_unreadable(files: dict[str, str]) -> str:
    """Say in one line what was left out."""
    first, reason = next(iter(files.items()))
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"left out, since it cannot be read: {first}{more}; {reason}"
