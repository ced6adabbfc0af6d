"""The crops of a set that is read many times, kept in one mapped file: decoded and resized only once."""

import hashlib
import os
import warnings
from functools import cached_property
from pathlib import Path

import numpy as np

from tent.data.preprocess import Preprocess, pillow_image
from tent.data.sets.arrays import ArrayImages, new_array, open_pixels
from tent.data.sets.folders import FolderImages, read_image
from tent.data.sets.images import Images, Pixels
from tent.files import check_space, lock, partial_path

MOST = 10_000 * 224 * 224 * 3  # bytes, 1.5 GB; larger sets are decoded each time
SPARE = 2**28  # bytes that the disk keeps free for results
CHUNK = 128  # images in memory at once
FORMAT = 1  # raised where the same file would be decoded or resized to other pixels


class KeptCrops(ArrayImages):
    """A set whose images were decoded, resized and cropped once; its files, labels and hash are those of the set.

    Args:
        shaping: what resized and cropped them; a stream with another is refused.
    """

    def __init__(self, images: FolderImages, shaping: Preprocess, crops: Path) -> None:
        pixels = open_pixels(crops, "it is written again")
        super().__init__(images.name, pixels, images.labels, images.classes, images.class_names)
        self.class_ids, self.shaping, self._images = images.class_ids, shaping, images

    def check(self, preprocess: Preprocess) -> None:
        """Refuse a network that sees images of another size or crop."""
        if preprocess.shaping.words != self.shaping.words:
            problem = f"its crops were kept for another preprocessing ({self.shaping.words})"
            raise ValueError(f"{self.name}: {problem} than {preprocess.shaping.words}; call keep_crops() with this one")

    def where(self, index: int) -> str:
        """Return the file that an image was decoded from."""
        return self._images.where(index)

    @cached_property
    def sha256(self) -> str:
        """The hash of the files, so that a result does not depend on what is kept."""
        return self._images.sha256


def keep_crops(images: Images, preprocess: Preprocess, folder: Path) -> Images:
    """Return a set of photographs with its crops for a network kept in a folder; a set that has none as it is.

    A stream of it takes the same preprocessing as the set itself would.
    """
    # its subclasses read more than pixels, or keep crops too; a file that is left out leaves no place in an array
    if type(images) is not FolderImages or images.cropped or images.skips:
        return images
    crops = write_crops(images, preprocess.shaping, folder)
    return images if crops is None else KeptCrops(images, preprocess.shaping, crops)


def write_crops(images: FolderImages, shaping: Preprocess, folder: Path) -> Path | None:
    """Return the file of a set's shaped pixels, written now unless it is there; None where none can be kept.

    The file is named by all that decides its pixels. It may be deleted at any time; the next reader writes it again.
    An image that cannot be read is an error.
    """
    extent = _extent(shaping)
    if extent is None or (needed := len(images) * extent[0] * extent[1] * 3) > MOST:
        return None
    path = folder / f"crops-{_digest(images, shaping)}.npy"
    try:
        if path.is_file():  # looked at without a lock, which a disk that is only read has none of
            return path
        with lock(path.with_name(f".{path.name}.lock"), "", (path,), wait=True):
            if not path.is_file():
                check_space(folder, needed + SPARE)
                _write(path, images, shaping, extent)
    except OSError as error:  # a full or read-only disk
        warnings.warn(f"{images.name}: its crops are not kept, so each pass decodes all files ({error})", stacklevel=2)
        return None
    return path


def _extent(shaping: Preprocess) -> tuple[int, int] | None:
    """Return height and width of every crop; None where they differ from image to image."""
    same = shaping.crop is not None or isinstance(shaping.size, tuple)
    return shaping.extent((0, 0)) if same else None


def _digest(images: FolderImages, shaping: Preprocess) -> str:
    """Return a name for the crops: another for other files, files that changed since, or another way of decoding."""
    changed = [os.stat(images.folder / file).st_mtime_ns for file in images.files]
    parts = (FORMAT, pillow_image().__version__, images.folder.resolve(), images.sha256, shaping.words, changed)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def read_framed(path: Path, frame: Preprocess | None, crops: Path | None, place: int) -> Pixels:
    """Return one clean image, framed: from the kept crops, or from its own file."""
    if crops is not None and crops.is_file():
        return np.array(open_pixels(crops, "it is written again")[place])
    pixels = read_image(path)
    return pixels if frame is None else frame.shape(pixels)


def _write(path: Path, images: FolderImages, shaping: Preprocess, extent: tuple[int, int]) -> None:
    with new_array(path, (len(images), *extent, 3)):
        for first in range(0, len(images), CHUNK):
            chunk = np.arange(first, min(first + CHUNK, len(images)))
            array = np.load(partial_path(path), mmap_mode="r+")  # anew: what is written does not stay in memory
            array[chunk] = images.fetch(chunk, shaping.shape)
