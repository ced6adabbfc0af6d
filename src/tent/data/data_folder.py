"""The data folder: where sets lie on disk."""

import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from tent.files import lock


def data_folder(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds one folder a set: the one given, else TENT_DATA, else the user's cache."""
    if given is not None:
        return Path(given).expanduser()
    if told := os.environ.get("TENT_DATA"):
        return Path(told).expanduser()
    return cache_folder()


def cache_folder() -> Path:
    """Return this project's folder in the user's cache, where the platform keeps it."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "tent" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tent"
    told = os.environ.get("XDG_CACHE_HOME")
    return (Path(told) if told else Path.home() / ".cache") / "tent"


def crop_folder(root: Path) -> Path:
    """Return the folder under a root for what is kept to save time, and may be deleted at any time."""
    return root / "cache"


def lock_set(folder: Path) -> AbstractContextManager[None]:
    """Keep a second process from writing the same set."""
    return lock(
        folder.parent / f".{folder.name}.lock", f"{folder}: another process is writing this set; wait for it to end"
    )


def folder_size(path: Path, most: int = 200_000) -> tuple[int, bool]:
    """Return the bytes that lie under a folder, and whether that is all of them: counting ends after `most` files."""
    total, files = 0, 0
    for folder, _, names in os.walk(path):
        total += sum(os.lstat(os.path.join(folder, name)).st_size for name in names)
        files += len(names)
        if files > most:
            return total, False
    return total, True
