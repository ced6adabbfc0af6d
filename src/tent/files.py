"""Disk: files that are whole or not there at all, and places that one process writes to at a time."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def beside(path: Path) -> Path:
    """Return the name under which the one process that writes a file makes it before it takes its own."""
    return path.with_name(f".{path.name}.making")


@contextmanager
def whole(path: str | os.PathLike[str], making: Path | None = None) -> Iterator[Path]:
    """Hand out a name beside the path, and rename it into place once the file is written and on disk.

    Args:
        making: the name to hand out; one that no other process has, unless given.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: its folder is not there; make it first")
    making = making or _unused(path)
    try:
        yield making
        with making.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(making, path)
    finally:
        making.unlink(missing_ok=True)


@contextmanager
def alone(lock: Path, busy: str) -> Iterator[None]:
    """Keep other processes out while the lock is held, saying why; it ends with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # no such lock on windows: two processes at once are the user's to avoid
        yield
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(busy) from None
        yield


def _unused(path: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".making", dir=path.parent)
    mask = os.umask(0)
    os.umask(mask)
    os.fchmod(handle, 0o666 & ~mask)  # mkstemp's own files are for their owner alone
    os.close(handle)
    return Path(name)
