"""What every set of images answers to, wherever its pixels lie."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image

Pixels = NDArray[np.uint8]  # (h, w, c), or (n, h, w, c) for a batch
Decoded: TypeAlias = Union[Pixels, "Image.Image"]  # Pillow's own in mode RGB: resized without two copies
Labels = NDArray[np.int64]
Each = Callable[[Decoded], Pixels]


class Images:
    """An ordered set of images with their labels, if known; what reads them fills in the methods below.

    A set whose answers are not one class an image (a segmentation map) overrides `targets`.
    """

    def __init__(
        self,
        name: str,
        labels: Labels | None,
        classes: int | None,
        class_names: Sequence[str] | None = None,
    ) -> None:
        self.name, self.classes = name, classes
        self.labels = labels
        self.class_names = None if class_names is None else tuple(class_names)
        self.unreadable: dict[int, str] = {}  # what was wrong with each image that was left out, by its place
        self.class_ids: tuple[str, ...] | None = None  # other names of the classes, such as ImageNet's synsets
        self.cropped = False  # whether images were cropped for a network when the set was made: see Stream

    def __len__(self) -> int:
        raise NotImplementedError

    def fetch(self, indices: NDArray[np.int64], each: Each | None = None) -> Pixels | list[Pixels]:
        """Return the images at these places: one array, or a list where their sizes may differ.

        Args:
            each: done to every image on its own, where it is read, as an array or as Pillow has decoded it.
        """
        raise NotImplementedError

    def readable(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the places that `fetch` returned images of: all, unless unreadable ones are left out."""
        if not self.unreadable:
            return indices
        return np.array([index for index in indices.tolist() if index not in self.unreadable], dtype=np.int64)

    def fork(self) -> "Images":
        """Return the same set for a thread to read ahead from; what it leaves out there is not noted here."""
        return self

    @property
    def decodes(self) -> bool:
        """Whether images are decoded from files whenever they are fetched, so that it pays to read ahead."""
        return False

    def where(self, index: int) -> str:
        """Return where image number `index` lies: its file, or its row in one."""
        raise NotImplementedError

    @property
    def extent(self) -> tuple[int, int] | None:
        """Height and width of every image, where they are all the same and that is known before any is read."""
        return None

    @property
    def labelled(self) -> bool:
        """Whether the answers are known."""
        return self.labels is not None

    def targets(self, indices: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the answers that belong to the images at these places, if they are known."""
        return None if self.labels is None else self.labels[indices]

    @cached_property
    def sha256(self) -> str:
        """A hash of the data, cheap enough for every result to carry."""
        raise NotImplementedError


def check_labels(labels: NDArray[np.generic], file: object, images: int, classes: int | None) -> Labels:
    """Return the labels as int64, or say what is wrong with the file they came from."""
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(f"{file}: labels must be one row of integers, not {labels.dtype} of shape {labels.shape}")
    if len(labels) != images:
        raise ValueError(f"{file}: {len(labels):,} labels for {images:,} images; fetch or make both files again")
    own = np.array(labels, dtype=np.int64)
    if images and (low := int(own.min())) < 0:
        raise ValueError(f"{file}: a label is {low}; labels count from 0")
    if images and classes is not None and (high := int(own.max())) >= classes:
        raise ValueError(f"{file}: a label is {high}, but there are {classes} classes, 0 to {classes - 1}")
    return own
