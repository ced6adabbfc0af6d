"""Images in .npy files: mapped, never unpickled, never read whole; written whole or not at all."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tokenize import TokenError

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import DTypeLike, NDArray

from tent.data.sets.images import Each, Images, Labels, Pixels, check_labels
from tent.files import atomic_write, partial_path

CHUNK = 4096  # rows hashed at once


class ArrayImages(Images):
    """Rows of one mapped array, uint8 (n, h, w, c)."""

    def __init__(
        self,
        name: str,
        pixels: Pixels,
        labels: Labels | None,
        classes: int | None,
        class_names: Sequence[str] | None = None,
        *,
        file: str = "",
        start: int = 0,
    ) -> None:
        super().__init__(name, labels, classes, class_names)
        self._pixels, self._file, self._start = pixels, file, start

    def __len__(self) -> int:
        return len(self._pixels)

    @property
    def extent(self) -> tuple[int, int]:
        """Height and width of a row."""
        return self._pixels.shape[1], self._pixels.shape[2]

    def fetch(self, indices: NDArray[np.int64], each: Each | None = None) -> Pixels | list[Pixels]:
        """Return a copy of these rows; the rest of the file stays on disk."""
        rows: Pixels = self._pixels[indices]
        return rows if each is None else [each(row) for row in rows]

    def where(self, index: int) -> str:
        """Return the file and the row in it."""
        return f"{self._file}[{self._start + range(len(self))[index]}]"

    @cached_property
    def sha256(self) -> str:
        """The hash of shape, pixels and labels."""
        digest = hashlib.sha256(repr(self._pixels.shape).encode())
        for first in range(0, len(self), CHUNK):
            digest.update(np.ascontiguousarray(self._pixels[first : first + CHUNK]).data)
        if self.labels is not None:
            digest.update(self.labels.astype("<i8").tobytes())
        return digest.hexdigest()


def open_array(path: Path, hint: str) -> NDArray[np.generic]:
    """Map one .npy file; a missing, truncated or pickled one is refused by name, with what to do."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; {hint}")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, TypeError, SyntaxError, OverflowError, EOFError, OSError, TokenError) as error:
        raise ValueError(f"{path}: not a whole plain .npy file ({error}); delete it and {hint}") from error
    if not isinstance(array, np.ndarray):
        array.close()
        raise ValueError(f"{path}: an archive of arrays, not one .npy array; {hint}")
    expected = array.nbytes + getattr(array, "offset", 0)
    if path.stat().st_size != expected:
        raise ValueError(f"{path}: {path.stat().st_size:,} bytes where {expected:,} belong; delete it and {hint}")
    return array


def open_pixels(path: Path, hint: str) -> Pixels:
    """Map one array of images; grey images without a channel axis get one."""
    array = open_array(path, hint)
    if array.ndim == 3:
        array = array[..., None]
    if array.dtype != np.uint8 or array.ndim != 4 or array.shape[3] not in (1, 3):
        raise ValueError(
            f"{path}: images must be uint8 of shape (n, h, w, 3), (n, h, w, 1) or (n, h, w),"
            f" not {array.dtype} of shape {array.shape}"
        )
    return array  # type: ignore[return-value]  # its dtype was just looked at


def open_pair(
    name: str,
    images: Path,
    labels: Path | None,
    hint: str,
    *,
    classes: int | None = None,
    class_names: Sequence[str] | None = None,
) -> ArrayImages:
    """Open images and their labels, if any; without a number of classes it is the highest label and one."""
    pixels = open_pixels(images, hint)
    known = None if labels is None else check_labels(open_array(labels, hint), labels, len(pixels), classes)
    if classes is None and known is not None and len(known):
        classes = int(known.max()) + 1
    return ArrayImages(name, pixels, known, classes, class_names, file=images.name)


@contextmanager
def new_array(path: Path, shape: tuple[int, ...], dtype: DTypeLike = np.uint8) -> Iterator[NDArray[np.uint8]]:
    """Hand out a mapped array to fill that becomes the file at the path once it is full."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, partial_path(path)) as making:
        array = open_memmap(making, mode="w+", dtype=np.dtype(dtype), shape=shape)
        yield array
        array.flush()
        del array  # windows cannot rename a file that is mapped


def save_array(path: Path, array: NDArray[np.generic]) -> None:
    """Write one array as a plain .npy file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as making, making.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def save_text(path: Path, text: str) -> None:
    """Write one text file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as making:
        making.write_text(text, encoding="utf-8")
