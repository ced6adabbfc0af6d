"""Images that lie as files in folders: one folder a class, a list with labels, or no labels at all."""

import copy
import hashlib
import os
import re
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tent.data.preprocess import pillow_image
from tent.data.sets.images import Decoded, Each, Images, Labels, Pixels, check_labels

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
PILLOW = r"PIL\."  # its modules
REMARKS = ("ignore", None, Warning, re.compile(PILLOW), 0)  # their warnings, as an entry of `warnings.filters`
DEEP_FORMATS = ("PNG", "PPM")  # their grey of 16 bits has the mode of 32 bits in some versions of Pillow
THREADS = min(8, os.cpu_count() or 1)  # decoding leaves the interpreter's lock, so threads are enough


class FolderImages(Images):
    """Image files under one folder, decoded when they are fetched."""

    def __init__(
        self,
        name: str,
        folder: Path,
        files: Sequence[str],
        labels: Labels | None,
        classes: int | None,
        class_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, labels, classes, class_names)
        self.folder, self.files = folder, tuple(files)
        self.skips = False  # whether what cannot be read is left out, and noted, rather than raised

    def __len__(self) -> int:
        return len(self.files)

    def fetch(self, indices: NDArray[np.int64], each: Each | None = None) -> Pixels | list[Pixels]:
        """Return these images as a list, decoded (and shaped by `each`) in several threads; see `readable`."""

        def read(index: int) -> Pixels | None:
            if index in self.unreadable:  # also if it could be read now: a run sees the same images in every pass
                return None
            try:
                image = self.read(index)
            except (ValueError, OSError) as error:
                if not self.skips:
                    raise
                self.unreadable[index] = str(error)
                return None
            return np.asarray(image) if each is None else each(image)

        places = [int(index) for index in indices]
        if len(places) < 2 or THREADS < 2:
            images = [read(place) for place in places]
        else:
            with ThreadPoolExecutor(THREADS) as pool:
                images = list(pool.map(read, places))
        return [image for image in images if image is not None]

    def fork(self) -> "FolderImages":
        """Return the same files with notes of their own on what cannot be read."""
        other = copy.copy(self)
        other.unreadable = dict(self.unreadable)
        return other

    @property
    def decodes(self) -> bool:
        """Always: nothing but the files' names is kept."""
        return True

    def read(self, index: int) -> Decoded:
        """Return one image as its file has it."""
        return decode_image(self.folder / self.files[index])

    def where(self, index: int) -> str:
        """Return the file's path inside the folder."""
        return self.files[index]

    @cached_property
    def sha256(self) -> str:
        """The hash of the names, lengths and labels of all files; their pixels are not read."""
        digest = hashlib.sha256(b"cropped" if self.cropped else b"")  # as a network sees them otherwise then
        for file in self.files:
            digest.update(f"{file}\0{os.stat(self.folder / file).st_size}\0".encode())
        if self.labels is not None:
            digest.update(self.labels.astype("<i8").tobytes())
        return digest.hexdigest()


def read_image(path: Path) -> Pixels:
    """Return one image file as uint8 (h, w, 3), or say which file is broken."""
    return np.asarray(decode_image(path))


def decode_image(path: Path) -> Decoded:
    """Return one image file in colours of 8 bits, or say which file is broken.

    Pixels are those that are stored: an EXIF note that a viewer should turn them is left alone, as in the pipelines
    that published networks were tested with.
    """
    image_module = pillow_image()
    _ignore_remarks()
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such image; restore it, or fetch the set again")
    try:
        with image_module.open(path) as image:
            return _to_rgb(image)
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError) as error:
        raise ValueError(f"{path}: not a whole image ({error}); replace or remove it") from error


def _ignore_remarks() -> None:
    """Let Pillow's remarks on odd metadata pass; what matters is raised.

    `warnings.catch_warnings` is not for threads: two that overlap leave every warning of the process switched off.
    """
    if list(warnings.filters[:1]) != [REMARKS]:
        warnings.filterwarnings("ignore", module=PILLOW)


def _to_rgb(image: "Image.Image") -> Decoded:
    """Return colours of 8 bits, whatever the file has; of 16-bit grey the upper 8 bits, which Pillow would clip."""
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in DEEP_FORMATS):
        grey = (np.asarray(image).astype(np.int64) >> 8).astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=2)
    if image.mode in ("I", "F"):
        raise ValueError(f"grey of 32 bits (mode {image.mode}), whose white is not known; save it with 8 or 16 bits")
    if image.mode == "RGB":
        image.load()  # before its file is closed
        return image
    return image.convert("RGB")


def list_images(folder: Path) -> list[str]:
    """Return the image files at any depth under a folder, by their paths inside it, in order."""
    found = []
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = Path(at).relative_to(folder)
        found += [(inside / name).as_posix() for name in files if is_image(name)]
    return sorted(found)


def is_image(name: str) -> bool:
    """Tell by its name whether a file is an image."""
    return not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES


def class_folders(folder: Path, hint: str) -> list[str]:
    """Return the names of a folder's folders, by number where all are numbers ("10" comes after "2")."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; {hint}")
    names = [entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith(".")]
    if names and all(name.isdecimal() for name in names):
        return sorted(names, key=int)
    return sorted(names)


def open_class_folders(name: str, folder: Path, class_names: Sequence[str], hint: str) -> FolderImages:
    """Open one folder a class; a class's label is its place among the names."""
    files: list[str] = []
    labels: list[int] = []
    for label, each in enumerate(class_names):
        inside = [f"{each}/{file}" for file in list_images(folder / each)]
        files += inside
        labels += [label] * len(inside)
    if not files:
        raise FileNotFoundError(f"{folder}: no image in any of its folders; {hint}")
    known = check_labels(np.array(labels), folder, len(files), len(class_names))
    return FolderImages(name, folder, files, known, len(class_names), class_names)


def open_image_list(name: str, folder: Path, listed: str, class_names: Sequence[str], hint: str) -> FolderImages:
    """Open the images that a text file names, one `path label` a line."""
    path = folder / listed
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such list; {hint}")
    files, labels = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        file, _, label = line.strip().rpartition(" ")
        if not line.strip():
            continue
        if not file or not label.isdecimal() or Path(file).is_absolute() or ".." in Path(file).parts:
            raise ValueError(f"{path}, line {number}: {line!r} is not a path inside this folder and a label; {hint}")
        files.append(file)
        labels.append(int(label))
    if not files:
        raise ValueError(f"{path}: the list is empty; {hint}")
    known = check_labels(np.array(labels), path, len(files), len(class_names))
    return FolderImages(name, folder, files, known, len(class_names), class_names)


def open_folder(folder: Path, labelled: bool | None = None, class_names: Sequence[str] | None = None) -> FolderImages:
    """Open a user's own folder: folders in it are classes; images right in it have no labels.

    Args:
        labelled: False takes every image at any depth, without labels.
        class_names: the classes in the network's order, where it is not that of the folders' names.
    """
    hint = "name a folder of images, or of one folder a class"
    names = class_folders(folder, hint)
    loose = [entry.name for entry in os.scandir(folder) if entry.is_file() and is_image(entry.name)]
    if labelled is None and loose and any(list_images(folder / name) for name in names):
        raise ValueError(
            f"{folder}: images both in it and in its folders; say labelled=False to take all without labels"
        )
    if labelled is False or (labelled is None and loose):
        files = list_images(folder)
        if not files:
            raise FileNotFoundError(f"{folder}: no image in it; {hint}")
        return FolderImages(f"folder {folder.name}", folder, files, None, None)
    if class_names is not None and (strange := sorted(set(names) - set(class_names))):
        raise ValueError(f"{folder}: the folder {strange[0]!r} is not one of the {len(class_names)} classes given")
    return open_class_folders(f"folder {folder.name}", folder, names if class_names is None else class_names, hint)
