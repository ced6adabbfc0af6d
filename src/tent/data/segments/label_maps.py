"""Sets of images with label maps: files of ids beside files of pixels, read, resized and cropped together."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tent.data.preprocess import pillow_image, stack
from tent.data.segments.class_map import IGNORE, ClassMap
from tent.data.sets.folders import FolderImages
from tent.data.sets.images import Decoded, Each, Pixels

if TYPE_CHECKING:
    from PIL import Image

IDS = ("L", "P", "1", "I;16", "I")  # Pillow's names for one number a pixel; "P" has a palette, which only colours it
Map = NDArray[np.uint8]  # (h, w): the class of each pixel, 255 where it is not counted
Colours = Mapping[int, tuple[int, int, int]]  # id -> red, green and blue


class LabelMapImages(FolderImages):
    """Image files and their label maps; a map's ids become classes when it is read.

    Args:
        pairs: of an image and its map, as paths inside the folder.
        rows: the share of an image, from its top, that is kept: some show the car that they were taken from.
        colours: of some ids, as published; a map whose palette has others is refused, since its ids are others too.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        pairs: Sequence[tuple[str, str]],
        class_map: ClassMap | None,
        rows: float = 1.0,
        colours: Colours | None = None,
    ) -> None:
        names = None if class_map is None else class_map.names
        classes = None if names is None else len(names)
        super().__init__(name, folder, [image for image, _ in pairs], None, classes, names)
        self.maps: tuple[str, ...] = tuple(path for _, path in pairs)
        self.class_map, self.rows = class_map, rows
        self.colours, self._hidden = colours, False
        self._class_count: int | None = None  # classes that ids without a class map may name

    @property
    def labelled(self) -> bool:
        """Whether the maps are read: always, unless they are hidden."""
        return not self._hidden

    def hide_labels(self) -> None:
        """Let the maps be, which need not be there then, and what they say of classes."""
        self._hidden, self.class_map, self.classes, self.class_names = True, None, None, None
        self.maps = ()

    def fetch(self, indices: NDArray[np.int64], each: Each | None = None) -> Pixels | list[Pixels]:
        """Return these images, without the rows that are left out."""

        def shape(image: Decoded) -> Pixels:
            kept = self._keep(np.asarray(image))
            return kept if each is None else each(kept)

        return super().fetch(indices, shape)

    def targets(self, indices: NDArray[np.int64], each: Callable[[Map], Map] | None = None) -> NDArray[np.int64]:
        """Return the maps of these images, all of one size.

        Args:
            each: done to every map, as to its image.
        """
        maps = [self.read_map(int(index)) for index in indices]
        maps = maps if each is None else [each(one) for one in maps]
        return stack(maps).astype(np.int64)

    def read_map(self, index: int) -> Map:
        """Return the classes of one image's pixels, and check that they are of the image's size."""
        path = self.folder / self.maps[index]
        ids = read_ids(path, self.colours)
        self._check_size(path, ids.shape[0], ids.shape[1], index)
        if self.class_map is None:
            self._check_ids(ids, path)
        return self._keep(ids if self.class_map is None else self.class_map.apply(ids, path))

    def check_map_headers(self, indices: NDArray[np.int64]) -> None:
        """Refuse maps that are in colours or not of their images' size, told from the files' headers alone."""
        for index in indices.tolist() if self.labelled else ():
            path = self.folder / self.maps[index]
            with open_map(path) as image:
                width, height = image.size
            self._check_size(path, height, width, index)

    def _check_size(self, path: Path, height: int, width: int, index: int) -> None:
        """Refuse a map of another size than its image; one that cannot be read is for `fetch` to tell of."""
        image_module = pillow_image()
        try:
            with image_module.open(self.folder / self.files[index]) as image:
                seen = image.size
        except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError):
            return
        if seen != (width, height):
            sizes = f"{height}x{width} for an image of {seen[1]}x{seen[0]}"
            raise ValueError(f"{path}: a map of {sizes}; labels and images must be of one size")

    def match(self, names: Sequence[str]) -> None:
        """Take a model's own order of classes, by their names."""
        if self.class_map is not None and tuple(names) != self.class_map.names:
            self.class_map = self.class_map.match(names, self.name)
            self.class_names, self.classes = self.class_map.names, len(names)

    def refuse_ids_from(self, classes: int) -> None:
        """Refuse maps, as they are read, with ids that are none of so many classes, where no class map tells."""
        self._class_count = classes

    @property
    def mapped_classes(self) -> tuple[int, ...] | None:
        """The classes that the set has, which may be fewer than the model's; None where no class map tells."""
        return None if self.class_map is None else tuple(sorted(set(self.class_map.classes.values())))

    def _check_ids(self, ids: Map, path: Path) -> None:
        wrong = (
            [] if self._class_count is None else np.unique(ids[(ids >= self._class_count) & (ids != IGNORE)]).tolist()
        )
        if wrong:
            raise ValueError(
                f"{path}: holds the id {wrong[0]}, but the model answers with {self._class_count} classes; say what ids"
                " mean: pairs:IMAGES,LABELS,CLASSES.json"
            )

    @cached_property
    def sha256(self) -> str:
        """The hash of names and lengths of all files, and of what ids mean; their pixels are not read."""
        digest = hashlib.sha256(f"{self.class_map and sorted(self.class_map.classes.items())} {self.rows}".encode())
        for file in (*self.files, *self.maps):
            digest.update(f"{file}\0{os.stat(self.folder / file).st_size}\0".encode())
        return digest.hexdigest()

    def _keep(self, pixels: Map) -> Map:
        return pixels[: round(len(pixels) * self.rows)]


@contextmanager
def open_map(path: Path) -> Iterator["Image.Image"]:
    """Open one label map, whose ids are not read yet, or say what is wrong with it."""
    image_module = pillow_image()
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such label map; restore it, or fetch the set again")
    try:
        with image_module.open(path) as image:
            mode = image.mode
            if mode in IDS:
                yield image
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError) as error:
        raise ValueError(f"{path}: not a whole label map ({error}); replace or remove it") from error
    if mode not in IDS:
        raise ValueError(f"{path}: a picture in colours ({mode}), not a map of ids; save one number a pixel (L or P)")


def read_ids(path: Path, colours: Colours | None = None) -> Map:
    """Return the ids of one label map, which are never the colours of its palette, or say what is wrong with it.

    Args:
        colours: that a palette, if there is one, must have for these ids.
    """
    with open_map(path) as image:
        ids, palette = np.asarray(image), image.getpalette() if image.mode == "P" else None
    if ids.size and (ids.max() > 255 or ids.min() < 0):
        raise ValueError(f"{path}: holds the id {int(ids.max())}; ids are from 0 to 255")
    ids = ids.astype(np.uint8)
    if colours and palette:
        _check_palette(path, ids, np.array(palette).reshape(-1, 3), colours)
    return ids


def _check_palette(path: Path, ids: Map, palette: NDArray[np.int64], colours: Colours) -> None:
    """Refuse a map whose ids were given out anew, as `quantize` does to a picture in colours.

    Ids before the first that has a colour are of no class, and so have none of these. Ids as grey may pass.
    """
    found = {id_: tuple(palette[id_].tolist()) for id_ in np.unique(ids).tolist() if id_ < len(palette)}
    if all(colour == (id_,) * 3 for id_, colour in found.items()):
        return
    first, known = min(colours), set(colours.values())
    for id_, colour in found.items():
        if colour != colours.get(id_, colour) or (id_ < first and colour in known):
            words = ", ".join(map(str, colour))
            raise ValueError(
                f"{path}: its palette gives the id {id_} the colour ({words}), which is another class's or none's in"
                " this set; take the map as published, whose ids nothing has changed"
            )
