"""The order that image files come in: the time they were taken, the number in their names, or no order at all."""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

import numpy as np

from tent.data.order import Indices, Labels, Order, Shuffled, Stored, by_name
from tent.data.preprocess import pillow_image
from tent.data.sets.folders import THREADS, FolderImages
from tent.data.sets.images import Images

EXIF, TAKEN, CHANGED = 0x8769, 36867, 306  # EXIF's own folder of tags; when a photograph was taken, and when last saved


@dataclass(frozen=True)
class Arranged(Order):
    """The order of a list of places."""

    places: tuple[int, ...]
    described: str

    @property
    def words(self) -> str:  # noqa: D102
        return self.described

    def permutation(self, total: int, labels: Labels | None = None) -> Indices:  # noqa: D102
        if total != len(self.places):
            raise ValueError(f"an order of {len(self.places):,} images was asked to arrange {total:,}")
        return np.array(self.places, dtype=np.int64)


def choose_order(images: Images, word: str | None, seed: int) -> Order:
    """Return an order by its name, or one that suits the images.

    Frames, which are numbered files of one folder, come by their number. Other files have no order in time, and are
    shuffled: a folder for each class would come class after class, which no adaptation survives. Arrays come as
    they are stored.
    """
    if word == "time":
        return time_order(images)
    if word is not None:
        return by_name(word, seed)
    if not isinstance(images, FolderImages):
        return Stored()
    if are_frames(images.files):
        return Arranged(_sort_by(list(map(_natural, images.files))), "by the number in their names")
    return Shuffled(seed)


def time_order(images: Images) -> Order:
    """Return the order in which image files were taken: by their EXIF date, or else by their modification time."""
    if not isinstance(images, FolderImages):
        raise ValueError(f"{images.name}: only image files have a time; choose the order stored or shuffled")
    with ThreadPoolExecutor(THREADS) as pool:
        dates = list(pool.map(lambda file: _date_taken(images.folder / file), images.files))
    files = [images.folder / file for file in images.files]
    times = [file.stat().st_mtime if date is None else date for file, date in zip(files, dates, strict=True)]
    known = sum(date is not None for date in dates)
    by = f"EXIF date of {known:,}, modification time of {len(dates) - known:,}" if known else "modification time"
    by = "EXIF date" if known == len(dates) else by
    return Arranged(
        _sort_by([(t, _natural(name)) for t, name in zip(times, images.files, strict=True)]), f"by time ({by})"
    )


def are_frames(files: Sequence[str]) -> bool:
    """Tell whether files are numbered alike, in one folder: frame_1.png, frame_2.png."""
    if len({PurePosixPath(file).parent for file in files}) > 1:
        return False
    shapes = {re.sub(r"\d+", "#", PurePosixPath(file).stem) for file in files}
    return len(files) > 1 and len(shapes) == 1 and "#" in shapes.pop()


def _sort_by(keys: Sequence[object]) -> tuple[int, ...]:
    return tuple(sorted(range(len(keys)), key=lambda place: keys[place]))  # type: ignore[arg-type,return-value]


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key by which 2 comes before 10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def _date_taken(path: Path) -> float | None:
    image_module = pillow_image()
    try:
        with image_module.open(path) as image:
            tags = image.getexif()
            text = tags.get_ifd(EXIF).get(TAKEN) or tags.get(CHANGED)
        return datetime.strptime(str(text).strip("\0 "), "%Y:%m:%d %H:%M:%S").timestamp()
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError):
        return None  # broken files are dealt with where they are read
