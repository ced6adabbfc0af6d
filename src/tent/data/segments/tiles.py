"""Images cut into tiles that fit into memory, each a sample of its own, with its own part of the label map."""

import copy
import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tent.data.preprocess import Preprocess, pillow_image, stack
from tent.data.segments.class_map import IGNORE
from tent.data.segments.label_maps import LabelMapImages, Map
from tent.data.sets.folders import FolderImages
from tent.data.sets.images import Each, Pixels

Box = tuple[int, int, int, int, int]  # the image, its first row and column, and the first that no tile before has


class TiledImages(LabelMapImages):
    """The tiles of images, image by image; a last tile that would stand over is moved back over the one before.

    Pixels that two tiles share are counted once: in the later tile they are ignored.

    Args:
        order: the places of the images, in the order that they come in.
        tile: height and width.
        preprocess: what is done to whole images before they are cut.
    """

    def __init__(
        self, images: FolderImages, order: Sequence[int], tile: tuple[int, int], preprocess: Preprocess
    ) -> None:
        self.whole, self.tile = images, tile
        found = {place: find_extent(images, place) for place in order}
        self.extents = {place: preprocess.extent(extent) for place, extent in found.items() if extent}
        self.boxes: list[Box] = [
            (place, top, left, new_top, new_left)
            for place in order
            # what cannot be read has one tile, which is left out
            for top, new_top in _starts(self.extents.get(place, (1, 1))[0], tile[0])
            for left, new_left in _starts(self.extents.get(place, (1, 1))[1], tile[1])
        ]
        class_map = images.class_map if isinstance(images, LabelMapImages) else None
        super().__init__(f"{images.name} in tiles of {tile[0]}x{tile[1]}", images.folder, [], class_map)
        self.classes, self.class_names = images.classes, images.class_names
        for i, (place, *_) in enumerate(self.boxes):
            if place in images.unreadable:
                self.unreadable[i] = images.unreadable[place]

    def __len__(self) -> int:
        return len(self.boxes)

    def fork(self) -> "TiledImages":
        """Return the same tiles of a fork of the images."""
        other = copy.copy(self)
        other.unreadable, other.whole = dict(self.unreadable), self.whole.fork()
        return other

    @property
    def labelled(self) -> bool:
        """Whether the whole images have label maps."""
        return isinstance(self.whole, LabelMapImages) and self.whole.labelled

    def fetch(self, indices: NDArray[np.int64], each: Each | None = None) -> list[Pixels]:
        """Return tiles of the images, which are shaped as wholes; those of an unreadable image are left out with it."""
        tiles = []
        for i in indices.tolist():
            place = self.boxes[i][0]
            whole = [] if i in self.unreadable else self.whole.fetch(np.array([place]), each)
            if len(whole):
                tiles.append(self._cut(whole[0], i))
            else:
                self.unreadable.setdefault(i, self.whole.unreadable.get(place, ""))
        return tiles

    def targets(self, indices: NDArray[np.int64], each: Callable[[Map], Map] | None = None) -> NDArray[np.int64]:
        """Return the tiles' own parts of the label maps."""
        maps = [self.read_map(int(index), each) for index in indices]
        return stack(maps).astype(np.int64)

    def read_map(self, index: int, each: Callable[[Map], Map] | None = None) -> Map:
        """Return one tile's labels; what an earlier tile has is ignored."""
        if not isinstance(self.whole, LabelMapImages):
            raise ValueError(f"{self.whole.name} has no label maps")
        place, top, left, new_top, new_left = self.boxes[index]
        whole = self.whole.read_map(place)
        own = self._cut(whole if each is None else each(whole), index).copy()
        own[: new_top - top], own[:, : new_left - left] = IGNORE, IGNORE
        return own

    def is_first(self, index: int) -> bool:
        """Tell whether a tile is the first of its image."""
        return self.boxes[index][1:3] == (0, 0)

    def own_part(self, index: int) -> tuple[slice, slice]:
        """Return the rows and columns of a tile that no earlier tile has."""
        _, top, left, new_top, new_left = self.boxes[index]
        return slice(new_top - top, None), slice(new_left - left, None)

    def blank_whole(self, like: Pixels, index: int) -> Pixels:
        """Return a picture of a tile's whole image, to paste pictures of its tiles into."""
        return np.full((*self.extents[self.boxes[index][0]], *like.shape[2:]), IGNORE, dtype=np.uint8)

    def paste(self, whole: Pixels, part: Pixels, index: int) -> None:
        """Put a tile's own pixels into the picture of its image; what two tiles share is the earlier's."""
        _, _, _, top, left = self.boxes[index]
        own = part[self.own_part(index)]
        whole[top : top + own.shape[0], left : left + own.shape[1]] = own

    def where(self, index: int) -> str:
        """Return the image's file, and the row and column that the tile begins at."""
        place, top, left, _, _ = self.boxes[index]
        return f"{self.whole.where(place)}@{top},{left}"

    @cached_property
    def sha256(self) -> str:
        """The hash of the whole images, and of the tiles."""
        return hashlib.sha256(f"{self.whole.sha256} {self.boxes}".encode()).hexdigest()

    def _cut(self, pixels: Pixels, index: int) -> Pixels:
        _, top, left, _, _ = self.boxes[index]
        return pixels[top : top + self.tile[0], left : left + self.tile[1]]


def _starts(whole: int, part: int) -> list[tuple[int, int]]:
    """Return where tiles begin along a side, and from where on each has pixels that none before has."""
    return [(max(min(start, whole - part), 0), start) for start in range(0, whole, part)]


def find_extent(images: FolderImages, place: int) -> tuple[int, int] | None:
    """Return an image's height and width; None, and a note, of a file that cannot be read where such are left out."""
    image_module, path = pillow_image(), images.folder / images.files[place]
    try:
        with image_module.open(path) as image:
            width, height = image.size
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError) as error:
        words = f"{path}: not a whole image ({error}); replace or remove it"
        if not images.skips:
            raise ValueError(words) from error
        images.unreadable.setdefault(place, words)
        return None
    return (round(height * images.rows) if isinstance(images, LabelMapImages) else height), width
