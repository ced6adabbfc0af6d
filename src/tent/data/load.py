"""From a name to images: a known set, a folder, a pair of arrays, or another library's set."""

import os
from pathlib import Path
from typing import Any

from tent.data import place
from tent.data.arrays import array_pair
from tent.data.folder import any_folder
from tent.data.hub import hugging_face, torchvision
from tent.data.images import Images
from tent.data.sets import named


def load(name: str, split: str = "test", root: str | os.PathLike[str] | None = None, **options: Any) -> Images:
    """Open a set of images; nothing but its labels is read yet.

    Args:
        name: a set of `known()`, or `folder:PATH`, `npy:IMAGES[,LABELS]`, `torchvision:CLASS`, `hf:NAME`.
        split: "train" or "test"; "test" is the split that the set is judged on, whatever it is called there.
        root: the folder that holds the sets; TENT_DATA, or the user's cache, unless given.
        options: what the set needs besides: `corruption` and `severity`, `version`, `labelled`, `class_names`.
    """
    kind, colon, rest = name.partition(":")
    if not colon:
        known = named(name)
        return known.open(known, known.path(place.root(root)), split, options)
    if not rest:
        raise ValueError(f"{name!r} names nothing after its colon; write folder:PATH, npy:IMAGES,LABELS or the like")
    if kind == "folder":
        return _folder(Path(rest).expanduser(), options)
    if kind == "npy":
        return _pair(rest, options)
    if kind == "torchvision":
        return torchvision(rest, split, place.root(root) / "torchvision", options)
    if kind == "hf":
        return hugging_face(rest, split, options)
    raise ValueError(f"{name!r}: {kind!r} is none of folder, npy, torchvision and hf")


def _folder(path: Path, options: dict[str, Any]) -> Images:
    given = {key: options.pop(key) for key in ("labelled", "class_names") if key in options}
    _no_more("a folder", options)
    return any_folder(path, **given)


def _pair(paths: str, options: dict[str, Any]) -> Images:
    given = {key: options.pop(key) for key in ("classes", "class_names") if key in options}
    _no_more("a pair of arrays", options)
    images, *labels = (Path(part.strip()).expanduser() for part in paths.split(","))
    if len(labels) > 1:
        raise ValueError(f"npy:{paths}: give one file of images and one of labels, with a comma between them")
    hint = "name an array that was written by numpy.save"
    return array_pair(f"npy {images.name}", images, labels[0] if labels else None, hint, **given)


def _no_more(what: str, options: dict[str, Any]) -> None:
    if options:
        raise ValueError(f"{what} has no option {', '.join(sorted(options))}")
