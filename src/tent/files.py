"""Files that are whole or not there at all, places that one process writes to at a time, and users' Python files."""

import glob
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

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
    check_file(path)
    partial = partial or _unused(path)
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def check_file(path: Path) -> None:
    """Say so if no file can be written under this name."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"{path}: its folder does not exist; create it first")
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; name a file")


def check_folder(path: Path) -> None:
    """Say so if files cannot be written to this folder, which need not exist yet."""
    there = next(each for each in (path, *path.parents) if each.exists())
    if not there.is_dir():
        raise NotADirectoryError(f"{there}: is a file; name a folder to write to")
    if not os.access(there, os.W_OK):
        raise PermissionError(f"{path}: may not be written to")


def check_space(path: Path, needed: int) -> None:
    """Say so if a disk has less space than so many bytes."""
    free = shutil.disk_usage(path).free
    if free < needed:
        raise OSError(f"{path}: {free / 1e6:,.1f} MB are free on its disk, and {needed / 1e6:,.1f} MB are needed")


@contextmanager
def lock(path: Path, busy: str, files: Iterable[Path] = (), wait: bool = False) -> Iterator[None]:
    """Keep other processes out while the lock is held, or raise with this message; it ends with its process.

    Args:
        files: written by the lock's holder alone; what a killed holder left half-written beside them is removed.
        wait: for whoever holds it to end, rather than raise.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(path)
    try:
        held.acquire(timeout=-1 if wait else 0)
    except Timeout:
        raise BlockingIOError(busy) from None
    try:
        for file in files:
            remove_partials(file)
        yield
    finally:
        held.release()


def remove_partials(path: Path) -> None:
    """Remove what killed writes of a file left beside it; for those who know that nobody else is writing it."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*making"):
        partial.unlink(missing_ok=True)


def load_python_file(path: str) -> ModuleType:
    """Return a user's Python file as a module; whatever fails in it is an ImportError of one line."""
    file = Path(os.path.expanduser(path))  # which leaves an unknown ~name as it is
    if not file.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    name = f"tent_user_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path}: Python cannot load it")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # for dataclasses and pickles, which look their module up
    try:
        with blame(path, path):
            spec.loader.exec_module(module)
    except ImportError:
        del sys.modules[name]
        raise
    return module


@contextmanager
def blame(culprit: str, path: str | None = None) -> Iterator[None]:
    """Turn whatever a user's code raises into an ImportError that names the code, the error and its line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise ImportError(f"{culprit}: {describe_error(error, path)}") from error


def describe_error(error: BaseException, path: str | None = None) -> str:
    """Return an error in one line, with the last line of the user's file that it went through."""
    file = Path(os.path.expanduser(path)).resolve() if path else None
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if file and Path(frame.filename).resolve() == file]
    where = f" ({file.name}, line {lines[-1]})" if file and lines else ""
    first = next(iter(str(error).strip().splitlines()), "")  # the rest is for those who read tracebacks
    return f"{type(error).__name__}: {first}{where}"


def _unused(path: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".making", dir=path.parent)
    mask = os.umask(0)
    os.umask(mask)
    os.fchmod(handle, 0o666 & ~mask)  # mkstemp's own files are for their owner alone
    os.close(handle)
    return Path(name)
