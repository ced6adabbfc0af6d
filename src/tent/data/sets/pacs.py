"""PACS: seven kinds of things as photographs, art paintings, cartoons and sketches (Li et al., ICCV 2017)."""

from pathlib import Path

import numpy as np

from tent.data.sets.folders import FolderImages, class_folders, open_class_folders
from tent.data.sets.images import Images
from tent.data.sets.published import Format, Set

CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")
SOURCE = "photo"  # the domain that models are trained on; of the others all images are for testing
EVERY = 10  # of the source, each class's tenth image by name is for testing, its twentieth and so on
TERMS = (
    "put PACS's folders photo, art_painting, cartoon and sketch, each with one folder a class, into the folder pacs"
    " of the data folder"
)
SPLITS = {
    "photo": {"train": 1_506, "test": 164},
    "art_painting": {"test": 2_048},
    "cartoon": {"test": 2_344},
    "sketch": {"test": 3_929},
}


def open_domain(known: Set, folder: Path, split: str) -> Images:
    """Open a split of `<domain>/<class>/<image>`."""
    found = _open_classes(known, folder, f"{known.name} {split}")
    if folder.name == SOURCE:
        found = _take_split(found, split, known.hint)
    if len(found) != known.splits[split]:
        found.name += f" ({len(found):,} of the published {known.splits[split]:,} images)"
    return found


def list_domain(folder: Path) -> list[str]:
    """Return the splits of a domain, if its folder is there."""
    return list(SPLITS.get(folder.name, ())) if folder.is_dir() else []


def _open_classes(known: Set, folder: Path, name: str) -> FolderImages:
    there = class_folders(folder, known.hint)
    missing, strange = (sorted(set(a) - set(b)) for a, b in ((CLASSES, there), (there, CLASSES)))
    if missing or strange:
        first = f"there is no folder {missing[0]!r}" if missing else f"the folder {strange[0]!r} is none of its classes"
        raise ValueError(f"{folder}: {first}; {known.hint}")
    found = open_class_folders(name, folder, CLASSES, known.hint)
    if empty := sorted(set(CLASSES) - {file.partition("/")[0] for file in found.files}):
        raise ValueError(f"{folder / empty[0]}: no image in it; {known.hint}")
    return found


def _take_split(whole: FolderImages, split: str, hint: str) -> FolderImages:
    labels = np.asarray(whole.labels)
    place = np.arange(len(whole)) - np.searchsorted(labels, labels)  # of an image in its class
    chosen = np.flatnonzero((place % EVERY == EVERY - 1) == (split == "test"))
    if not len(chosen):
        raise ValueError(f"{whole.folder}: no class has {EVERY} images, and every tenth is for testing; {hint}")
    files = [whole.files[index] for index in chosen]
    return FolderImages(whole.name, whole.folder, files, labels[chosen], whole.classes, whole.class_names)


PACS = tuple(
    Set(
        f"pacs-{domain.replace('_', '-')}",
        f"PACS, {domain.replace('_', ' ')}",
        len(CLASSES),
        splits,
        Format(open_domain, list_domain),
        class_names=CLASSES,
        published_as=(f"PACS/{domain}",),
        terms=TERMS,
        folder=f"pacs/{domain}",
    )
    for domain, splits in SPLITS.items()
)
