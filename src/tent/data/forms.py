"""The forms that published sets take on disk, and how each is opened."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tent.data.arrays import ArrayImages, array_pair, open_array, open_pixels
from tent.data.folder import by_class, by_list, class_folders
from tent.data.images import Images, checked_labels, counted
from tent.data.published import Set

SEVERITIES = 5
EVALUATED = ("test", "val", "validation")  # names for the split that one is judged on


def split_of(known: Set, split: str) -> str:
    """Return the set's own name of a split: "test" is the one it is judged on, whatever it is called there."""
    if split in known.splits:
        return split
    own = [name for name in known.splits if name in EVALUATED]
    if split in EVALUATED and own:
        return own[0]
    raise ValueError(f"{known.name} has no split {split!r}; choose from {', '.join(known.splits)}")


def plain(known: Set, folder: Path, split: str, options: dict[str, Any]) -> Images:
    """Open `<split>_images.npy` and `<split>_labels.npy`."""
    _no_more(known, options)
    split = split_of(known, split)
    images, labels = folder / f"{split}_images.npy", folder / f"{split}_labels.npy"
    found = array_pair(
        f"{known.name} {split}",
        images,
        labels,
        known.hint,
        classes=known.classes,
        class_names=_class_names(known, folder),
    )
    found.name = counted(found.name, len(found), known.splits[split])
    return found


def versioned(known: Set, folder: Path, split: str, options: dict[str, Any]) -> Images:
    """Open CIFAR-10.1: `cifar10.1_<version>_data.npy` and its labels."""
    split_of(known, split)
    version = str(options.pop("version", "v6"))
    _no_more(known, options)
    counts = {"v4": 2021, "v6": 2000}
    if version not in counts:
        raise ValueError(f"{known.name} has no version {version!r}; choose v6, which its authors recommend, or v4")
    images, labels = folder / f"cifar10.1_{version}_data.npy", folder / f"cifar10.1_{version}_labels.npy"
    name = f"{known.name} {version}"
    found = array_pair(name, images, labels, known.hint, classes=known.classes, class_names=known.class_names)
    found.name = counted(name, len(found), counts[version])
    return found


def corrupted_arrays(known: Set, folder: Path, split: str, options: dict[str, Any]) -> Images:
    """Open one type and severity of CIFAR-10-C: a fifth of `<type>.npy`, or a `<type>_<severity>.npy` made alone."""
    split_of(known, split)
    type_, severity = _shift(known, options, [path.stem for path in sorted(folder.glob("*.npy"))])
    labels = _five_times(known, folder)
    rows = len(labels) // SEVERITIES
    file, start = folder / f"{type_}.npy", rows * (severity - 1)
    if not file.is_file() and (alone := folder / f"{type_}_{severity}.npy").is_file():
        file, start = alone, 0
    pixels = open_pixels(file, f"{known.hint} --types {type_}" if known.made_from else known.hint)
    due = len(labels) if file.stem == type_ else rows
    if len(pixels) != due:
        raise ValueError(f"{file}: {len(pixels):,} images where {due:,} belong; delete it and {known.hint}")
    checked = checked_labels(labels[:rows], folder / "labels.npy", rows, known.classes)
    name = counted(f"{known.name} {type_} severity {severity}", rows, known.splits["test"]) + _made(file)
    part = pixels[start : start + rows]
    return ArrayImages(name, part, checked, known.classes, known.class_names, file=file.name, start=start)


def class_tree(known: Set, folder: Path, split: str, options: dict[str, Any]) -> Images:
    """Open `<split>/<class>/<image>`; all classes must be there, or every label after a missing one is wrong."""
    _no_more(known, options)
    split = split_of(known, split)
    return _tree(known, folder / split, f"{known.name} {split}", known.splits[split])


def corrupted_tree(known: Set, folder: Path, split: str, options: dict[str, Any]) -> Images:
    """Open `<type>/<severity>/<class>/<image>`."""
    split_of(known, split)
    there = [entry.name for entry in sorted(folder.iterdir()) if entry.is_dir()] if folder.is_dir() else []
    type_, severity = _shift(known, options, there)
    name = f"{known.name} {type_} severity {severity}"
    return _tree(known, folder / type_ / str(severity), name, known.splits["val"])


def numbered_tree(known: Set, folder: Path, split: str, options: dict[str, Any]) -> Images:
    """Open ImageNetV2: `imagenetv2-<version>-format-val/<0..999>/<image>`, a folder's number being its label."""
    split_of(known, split)
    version = str(options.pop("version", "matched-frequency"))
    _no_more(known, options)
    if version not in known.pieces:
        raise ValueError(f"{known.name} has no version {version!r}; choose from {', '.join(known.pieces)}")
    at = folder / f"imagenetv2-{version}-format-val"
    names = class_folders(at, known.hint)
    if names != [str(number) for number in range(known.classes)]:
        raise ValueError(f"{at}: its folders are not 0 to {known.classes - 1}; {known.hint}")
    found = by_class(f"{known.name} {version}", at, names, known.hint)
    found.name = counted(found.name, len(found), known.splits["test"])
    return found


def listed(known: Set, folder: Path, split: str, options: dict[str, Any]) -> Images:
    """Open `<split>/image_list.txt`, a path and a label a line."""
    _no_more(known, options)
    split = split_of(known, split)
    names = known.class_names or ()
    found = by_list(f"{known.name} {split}", folder / split, "image_list.txt", names, known.hint)
    found.name = counted(found.name, len(found), known.splits[split])
    return found


def _tree(known: Set, folder: Path, name: str, published: int) -> Images:
    names = class_folders(folder, known.hint)
    if len(names) != known.classes:
        raise ValueError(f"{folder}: {len(names):,} class folders where {known.classes:,} belong; {known.hint}")
    found = by_class(name, folder, names, known.hint)
    found.name = counted(name, len(found), published)
    return found


def _shift(known: Set, options: dict[str, Any], there: list[str]) -> tuple[str, int]:
    type_, severity = options.pop("corruption", None), options.pop("severity", SEVERITIES)
    _no_more(known, options)
    if type_ is None or not re.fullmatch(r"[a-z]+(_[a-z]+)*", str(type_)):
        have = ", ".join(name for name in there if name != "labels") or "none yet"
        raise ValueError(f"{known.name} needs a corruption, not {type_!r}; there: {have}")
    if severity not in range(1, SEVERITIES + 1):
        raise ValueError(f"severity {severity!r}: choose from 1 to {SEVERITIES}")
    return str(type_), int(severity)


def _five_times(known: Set, folder: Path) -> NDArray[np.generic]:
    path = folder / "labels.npy"
    labels = open_array(path, known.hint)
    rows = len(labels) // SEVERITIES
    if len(labels) % SEVERITIES or (np.reshape(labels, (SEVERITIES, -1)) != labels[:rows]).any():
        raise ValueError(f"{path}: not the same labels five times over; delete it and {known.hint}")
    clean = folder.parent / str(known.made_from) / "test_labels.npy"
    due = open_array(clean, f"get it with: tent data get {known.made_from}") if clean.is_file() else labels[:rows]
    if len(due) == rows and (due != labels[:rows]).any():
        raise ValueError(f"{path}: not the labels of the clean images in {clean}; delete the wrong one, get it again")
    return labels


def _made(file: Path) -> str:
    card = file.with_suffix(".made.json")
    if not card.is_file():
        return ""
    try:
        made = json.loads(card.read_text(encoding="utf-8"))
        return f" (made by tent {made['tent']}, seed {made['seed']})"
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{card}: not the card of a made file ({error!r}); delete it and {file.name}, and make it again"
        ) from error


def _class_names(known: Set, folder: Path) -> tuple[str, ...] | None:
    path = folder / "class_names.txt"
    if known.class_names is not None or not path.is_file():
        return known.class_names
    names = tuple(path.read_text(encoding="utf-8").split("\n")[: known.classes])
    return names if len(names) == known.classes else None


def _no_more(known: Set, options: dict[str, Any]) -> None:
    if options:
        raise ValueError(f"{known.name} has no option {', '.join(sorted(options))}")
