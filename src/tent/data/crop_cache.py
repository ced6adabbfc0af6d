"""The framed pixels of a set that is read many times, kept in one mapped file: decoded and resized only once."""

import hashlib
import warnings
from functools import cached_property
from pathlib import Path

import numpy as np

from tent.data.preprocess import Preprocess
from tent.data.sets.arrays import ArrayImages, new_array, open_pixels
from tent.data.sets.folders import FolderImages, read_image
from tent.data.sets.images import Images, Pixels
from tent.files import lock, partial_path

MOST = 10_000  # images: 1.5 GB at 224 x 224; larger sets are decoded each time
CHUNK = 128  # images in memory at once


class KeptCrops(ArrayImages):
    """A set whose images were decoded, resized and cropped once; its files, labels and hash are those of the set."""

    def __init__(self, images: FolderImages, shaping: Preprocess, crops: Path) -> None:
        pixels = open_pixels(crops, "it is written again")
        super().__init__(images.name, pixels, images.labels, images.classes, images.class_names)
        self.class_ids, self.shaped_by, self._images = images.class_ids, shaping, images

    def where(self, index: int) -> str:
        """Return the file that an image was decoded from."""
        return self._images.where(index)

    @cached_property
    def sha256(self) -> str:
        """The hash of the files, so that a result does not depend on what is kept."""
        return self._images.sha256


def keep_crops(images: Images, preprocess: Preprocess, folder: Path) -> Images:
    """Return a set of photographs with its crops for a network kept on disk; any other set as it is."""
    # its subclasses read more than pixels, or keep crops too; a file that is left out leaves no place in an array
    if type(images) is not FolderImages or images.cropped or images.skips:
        return images
    crops = cache_crops(images, preprocess.shaping, folder)
    return images if crops is None else KeptCrops(images, preprocess.shaping, crops)


def cache_crops(images: FolderImages, frame: Preprocess, folder: Path) -> Path | None:
    """Return the file of a set's framed pixels, written now unless it is there; None where none can be kept.

    The file is named by what it holds. It may be deleted at any time; the next reader writes it again. An image that
    cannot be read is an error.
    """
    if frame.crop is None or len(images) > MOST:
        return None
    height, width = frame.extent((0, 0))
    name = hashlib.sha256(f"{images.sha256} {frame.words}".encode()).hexdigest()
    path = folder / f"crops-{name[:32]}.npy"
    try:
        with lock(path.with_name(f".{path.name}.lock"), "", wait=True):
            if not path.is_file():
                _write(path, images, frame, (height, width))
    except OSError as error:  # a full or read-only disk
        warnings.warn(f"{images.name}: its crops are not kept, so each pass decodes all files ({error})", stacklevel=2)
        return None
    return path


def read_framed(path: Path, frame: Preprocess | None, crops: Path | None, place: int) -> Pixels:
    """Return one clean image, framed: from the kept crops, or from its own file."""
    if crops is not None and crops.is_file():
        return np.array(open_pixels(crops, "it is written again")[place])
    pixels = read_image(path)
    return pixels if frame is None else frame.shape(pixels)


def _write(path: Path, images: FolderImages, frame: Preprocess, extent: tuple[int, int]) -> None:
    with new_array(path, (len(images), *extent, 3)):
        for first in range(0, len(images), CHUNK):
            chunk = np.arange(first, min(first + CHUNK, len(images)))
            array = np.load(partial_path(path), mmap_mode="r+")  # anew: what is written does not stay in memory
            array[chunk] = images.fetch(chunk, frame.shape)
