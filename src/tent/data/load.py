"""From a name to images: a known set, a folder, a pair of arrays, or another library's set."""

import os
from pathlib import Path
from typing import Any

from tent.data.data_folder import data_folder
from tent.data.hub import open_hugging_face, open_torchvision
from tent.data.segments.scenes import open_pair_of_folders
from tent.data.sets.arrays import open_pair
from tent.data.sets.catalog import get_set
from tent.data.sets.folders import open_folder
from tent.data.sets.images import Images


def load(name: str, split: str = "test", root: str | os.PathLike[str] | None = None, **options: Any) -> Images:
    """Open a set of images; nothing but its labels is read yet.

    Args:
        name: a set of `known_sets()`, or `folder:PATH`, `npy:IMAGES[,LABELS]`, `torchvision:CLASS`, `hf:NAME`, or
            `pairs:IMAGES,LABELS[,CLASSES]`: two folders, of images and of their label maps, and a file of classes.
        split: "train" or "test"; "test" is the split that the set is judged on, whatever it is called there.
        root: the folder that holds the sets; TENT_DATA, or the user's cache, unless given.
        options: what the set needs besides: `corruption` and `severity`, `version`, `labelled`, `class_names`.
    """
    kind, colon, rest = name.partition(":")
    if not colon:
        return get_set(name).open(data_folder(root), split, **options)
    if not rest:
        raise ValueError(f"{name!r} names nothing after its colon; write folder:PATH, npy:IMAGES,LABELS or the like")
    if kind == "folder":
        _check_options("a folder", options, ("labelled", "class_names"))
        return open_folder(Path(rest).expanduser(), **options)
    if kind == "npy":
        _check_options("a pair of arrays", options, ("classes", "class_names"))
        return _open_pair(rest, options)
    if kind == "pairs":
        _check_options("a pair of folders", options, ("labelled",))
        return _open_folders(rest, **options)
    if kind == "torchvision":
        return open_torchvision(rest, split, data_folder(root) / "torchvision", options)
    if kind == "hf":
        return open_hugging_face(rest, split, options)
    raise ValueError(f"{name!r}: {kind!r} is none of folder, npy, pairs, torchvision and hf")


def _open_pair(paths: str, options: dict[str, Any]) -> Images:
    images, *labels = (Path(part.strip()).expanduser() for part in paths.split(","))
    if len(labels) > 1:
        raise ValueError(f"npy:{paths}: give one file of images and one of labels, with a comma between them")
    hint = "name an array that was written by numpy.save"
    return open_pair(f"npy {images.name}", images, labels[0] if labels else None, hint, **options)


def _open_folders(paths: str, labelled: bool = True) -> Images:
    parts = [Path(part.strip()).expanduser() for part in paths.split(",")]
    if len(parts) not in (2, 3):
        raise ValueError(f"pairs:{paths}: give a folder of images, one of label maps, and perhaps a file of classes")
    return open_pair_of_folders(parts[0], parts[1], parts[2] if len(parts) > 2 else None, labelled)


def _check_options(what: str, options: dict[str, Any], known: tuple[str, ...]) -> None:
    if strange := sorted(set(options) - set(known)):
        raise ValueError(f"{what} has no option {', '.join(strange)}")
