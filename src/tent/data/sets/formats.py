"""The formats of sets that lie as arrays: how each is opened, and which pieces lie in a folder; for files see trees."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tent.data.sets.arrays import ArrayImages, open_array, open_pair, open_pixels
from tent.data.sets.images import Images, check_labels
from tent.data.sets.published import Format, Set

SEVERITIES = 5
AnyImages = TypeVar("AnyImages", bound=Images)
NAMES = ("class_names.txt", "classes.txt")  # of classes, one a line: as `tent data get` writes them, and as others do
VERSIONS = {"v4": 2021, "v6": 2000}  # of CIFAR-10.1, and the images of each


def open_arrays(known: Set, folder: Path, split: str) -> Images:
    """Open `<split>_images.npy` and `<split>_labels.npy`."""
    images, labels = folder / f"{split}_images.npy", folder / f"{split}_labels.npy"
    names = _class_names(known, folder)
    found = open_pair(f"{known.name} {split}", images, labels, known.hint, classes=known.classes, class_names=names)
    return note_count(found, known.splits[split])


def list_arrays(folder: Path) -> list[str]:
    """Return the splits whose images and labels are both there."""
    return [split for split in ("train", "test") if _both(folder, f"{split}_images.npy", f"{split}_labels.npy")]


def open_versions(known: Set, folder: Path, split: str, version: str = "v6") -> Images:
    """Open CIFAR-10.1: `cifar10.1_<version>_data.npy` and its labels."""
    if version not in VERSIONS:
        raise ValueError(f"{known.name} has no version {version!r}; choose v6, which its authors recommend, or v4")
    images, labels = folder / f"cifar10.1_{version}_data.npy", folder / f"cifar10.1_{version}_labels.npy"
    name = f"{known.name} {version}"
    found = open_pair(name, images, labels, known.hint, classes=known.classes, class_names=known.class_names)
    return note_count(found, VERSIONS[version])


def list_versions(folder: Path) -> list[str]:
    """Return the versions of CIFAR-10.1 that are there."""
    return [v for v in VERSIONS if _both(folder, f"cifar10.1_{v}_data.npy", f"cifar10.1_{v}_labels.npy")]


def open_corrupted_arrays(
    known: Set, folder: Path, split: str, corruption: str | None = None, severity: int = SEVERITIES
) -> Images:
    """Open one type and severity of CIFAR-10-C: a fifth of `<type>.npy`, or a `<type>_<severity>.npy` made alone.

    Corrupted training images lie in a folder `train` of the same layout; they are made, never published.
    """
    folder = split_folder(folder, split)
    check_corruption(known, corruption, severity, [path.stem for path in sorted(folder.glob("*.npy"))])
    hint = _corrupted_hint(known, split, str(corruption), severity)
    labels = _repeated_labels(known, folder, split, hint)
    rows = len(labels) // SEVERITIES
    file, start = folder / f"{corruption}.npy", rows * (severity - 1)
    if not file.is_file() and (single := folder / f"{corruption}_{severity}.npy").is_file():
        file, start = single, 0
    pixels = open_pixels(file, hint)
    due = len(labels) if file.stem == corruption else rows
    if len(pixels) != due:
        raise ValueError(f"{file}: {len(pixels):,} images where {due:,} belong; delete it and {hint}")
    own = check_labels(labels[:rows], folder / "labels.npy", rows, known.classes)
    name = f"{known.name}{'' if split == 'test' else f' {split}'} {corruption} severity {severity}"
    part = pixels[start : start + rows]
    found = ArrayImages(name, part, own, known.classes, known.class_names, file=file.name, start=start)
    note_count(found, known.splits[split])
    found.name += describe_maker(file.with_suffix(".made.json"))
    return found


def split_folder(folder: Path, split: str) -> Path:
    """Return where a corrupted set keeps a split: its test images as published, others in a folder of their own."""
    return folder if split == "test" else folder / split


def list_corrupted_arrays(folder: Path) -> list[str]:
    """Return the types that are there, if their labels are; "(made)" marks those that were made here."""
    if not (folder / "labels.npy").is_file():
        return []
    files = [path for path in sorted(folder.glob("[a-z]*.npy")) if path.name != "labels.npy"]
    return [path.stem + (" (made)" if path.with_suffix(".made.json").is_file() else "") for path in files]


ARRAYS = Format(open_arrays, list_arrays)
VERSIONED_ARRAYS = Format(open_versions, list_versions, ("version",))
CORRUPTED_ARRAYS = Format(open_corrupted_arrays, list_corrupted_arrays, ("corruption", "severity"))


def note_count(found: AnyImages, published: int) -> AnyImages:
    """Add to a set's name how many images it has, where that is not what was published."""
    if len(found) != published:
        found.name += f" ({len(found):,} of the published {published:,} images)"
    return found


def check_corruption(known: Set, corruption: str | None, severity: int, there: Iterable[str]) -> None:
    """Refuse a type or a severity that cannot be the name of one."""
    if not re.fullmatch(r"[a-z]+(_[a-z]+)*", str(corruption)) or corruption is None:
        have = ", ".join(name for name in there if name != "labels") or "none yet"
        raise ValueError(f"{known.name} needs a corruption, not {corruption!r}; there: {have}")
    if severity not in range(1, SEVERITIES + 1):
        raise ValueError(f"severity {severity!r}: choose from 1 to {SEVERITIES}")


def _corrupted_hint(known: Set, split: str, corruption: str, severity: int) -> str:
    if split == "test":
        return f"{known.hint} --types {corruption}"
    return f"make it with: tent data make {known.name} --split {split} --types {corruption} --severities {severity}"


def _repeated_labels(known: Set, folder: Path, split: str, hint: str) -> NDArray[np.generic]:
    """Return labels.npy, which must hold the clean labels once for each severity."""
    path = folder / "labels.npy"
    labels = open_array(path, hint)
    rows = len(labels) // SEVERITIES
    if len(labels) % SEVERITIES or (np.reshape(labels, (SEVERITIES, -1)) != labels[:rows]).any():
        raise ValueError(f"{path}: not the same labels five times over; delete it and {hint}")
    root = folder.parent if split == "test" else folder.parent.parent
    clean = root / str(known.made_from) / f"{split}_labels.npy"
    due = open_array(clean, f"get it with: tent data get {known.made_from}") if clean.is_file() else labels[:rows]
    if len(due) == rows and (due != labels[:rows]).any():
        raise ValueError(f"{path}: not the labels of the clean images in {clean}; delete the wrong one, get it again")
    return labels


def describe_maker(card: Path) -> str:
    """Say by which version and seed images were made, if they were made here and have a card."""
    if not card.is_file():
        return ""
    try:
        made = json.loads(card.read_text(encoding="utf-8"))
        return f" (made by tent {made['tent']}, seed {made['seed']})"
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{card}: not the card of made images ({error!r}); delete it and them, and make them again"
        ) from error


def _class_names(known: Set, folder: Path) -> tuple[str, ...] | None:
    path = next((folder / name for name in NAMES if (folder / name).is_file()), None)
    if known.class_names is not None or path is None:
        return known.class_names
    names = tuple(path.read_text(encoding="utf-8").split("\n")[: known.classes])
    return names if len(names) == known.classes else None


def _both(folder: Path, *names: str) -> bool:
    return all((folder / name).is_file() for name in names)
