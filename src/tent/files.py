"""Files that are whole or not there at all, and places that one process writes to at a time."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


def partial_path(path: Path) -> Path:
    """Return the name under which the only process that writes a file makes it, before the file takes its own."""
    return path.with_name(f".{path.name}.making")


@contextmanager
def atomic_write(path: str | os.PathLike[str], partial: Path | None = None) -> Iterator[Path]:
    """Hand out a name beside the path, and rename it into place once the file is written and on disk.

    Args:
        partial: the name to hand out; one that no other process has, unless given.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: its folder does not exist; create it first")
    partial = partial or _unused(path)
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def lock(path: Path, busy: str) -> Iterator[None]:
    """Keep other processes out while the lock is held, or raise with this message; it ends with its process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(path)
    try:
        held.acquire(timeout=0)
    except Timeout:
        raise BlockingIOError(busy) from None
    try:
        yield
    finally:
        held.release()


def _unused(path: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".making", dir=path.parent)
    mask = os.umask(0)
    os.umask(mask)
    os.fchmod(handle, 0o666 & ~mask)  # mkstemp's own files are for their owner alone
    os.close(handle)
    return Path(name)
