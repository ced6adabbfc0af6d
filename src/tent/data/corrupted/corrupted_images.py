"""A set of image files that are corrupted while they are read: no corrupted copy lies on disk."""

from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tent
from tent.data.corrupted.corruption import Corruption
from tent.data.crop_cache import read_framed, write_crops
from tent.data.sets.folders import FolderImages
from tent.data.sets.images import Each, Pixels


class CorruptedImages(FolderImages):
    """The files of a clean set under one corruption; an image depends on its place in the set, never on its batch.

    Args:
        name: of the corrupted set; how it was made is added to it.
        cache: a folder where the framed pixels of the clean set are kept, if it is small enough for that.
    """

    def __init__(self, name: str, clean: FolderImages, corruption: Corruption, cache: Path | None = None) -> None:
        how = f" (made on the fly by tent {tent.__version__}, seed {corruption.seed})"
        super().__init__(name + how, clean.folder, clean.files, clean.labels, clean.classes, clean.class_names)
        self.class_ids, self.cropped = clean.class_ids, corruption.frame is not None
        self._clean, self._corruption, self._cache = clean, corruption, cache

    @property
    def extent(self) -> tuple[int, int] | None:
        """Height and width of the crop, where there is one."""
        frame = self._corruption.frame
        return None if frame is None or frame.crop is None else frame.extent((0, 0))

    def fetch(self, indices: NDArray[np.int64], each: Each | None = None) -> Pixels | list[Pixels]:
        """Return these images as a list, corrupted (and shaped by `each`) in several threads."""
        self.write_crops()  # once, before several threads want them
        return super().fetch(indices, each)

    def fork(self) -> FolderImages:
        """Return the same files for a thread to read ahead from; the crops are kept, or given up, once for all."""
        self.write_crops()
        return super().fork()

    def write_crops(self) -> None:
        """Write the crops that are kept, unless they are there; an image that cannot be read is found here."""
        _ = self._crops

    def read(self, index: int) -> Pixels:
        """Return one image, corrupted."""
        frame, path = self._corruption.frame, self.folder / self.files[index]
        clean = read_framed(path, frame, self._crops, index)
        return self._corruption.store(self._corruption.apply(clean, index))

    @cached_property
    def sha256(self) -> str:
        """The hash of the clean set and of all that the corruption does to it."""
        return self._corruption.digest(self._clean.sha256)

    @cached_property
    def _crops(self) -> Path | None:
        frame = self._corruption.frame
        if frame is None or self._cache is None:
            return None
        try:
            return write_crops(self._clean, frame, self._cache)
        except ValueError:
            if self.skips:  # each file is read on its own, and those that cannot be are noted
                return None
            raise
