"""Where data lies on disk, and how a file comes to be there whole or not at all."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import DTypeLike, NDArray

from tent import files
from tent.files import atomic_write, partial_path


def root(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds one folder a set: the one given, else TENT_DATA, else the user's cache."""
    if given is not None:
        return Path(given).expanduser()
    if told := os.environ.get("TENT_DATA"):
        return Path(told).expanduser()
    return cache()


def cache() -> Path:
    """Return this project's folder in the user's cache, where the platform keeps it."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "tent" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tent"
    told = os.environ.get("XDG_CACHE_HOME")
    return (Path(told) if told else Path.home() / ".cache") / "tent"


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


def alone(folder: Path) -> AbstractContextManager[None]:
    """Keep a second process from writing the same set."""
    return files.lock(
        folder.parent / f".{folder.name}.lock", f"{folder}: another process is writing this set; wait for it to end"
    )


def size(path: Path, most: int = 200_000) -> tuple[int, bool]:
    """Return the bytes that lie under a folder, and whether that is all of them: counting ends after `most` files."""
    total, files = 0, 0
    for folder, _, names in os.walk(path):
        total += sum(os.lstat(os.path.join(folder, name)).st_size for name in names)
        files += len(names)
        if files > most:
            return total, False
    return total, True
