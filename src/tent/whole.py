"""Files that are whole or not there: written beside, then renamed."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Hand out a name beside the path, and rename it into place once the file is written and on disk."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: its folder is not there; make it first")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".making", dir=path.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.chmod(0o666 & ~_umask())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
