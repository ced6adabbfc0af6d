"""Archives, read without trust: only plain files whose paths stay inside come out, and nothing is linked or run."""

import io
import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from tent.data.sets.published import Progress

LINK = 0o120000  # the file type bits of a symbolic link, where a zip keeps unix modes
ENCRYPTED = 0x1  # the flag of an encrypted file in a zip
BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, OSError)
RATIO, ROOM = 100, 100_000_000  # a file may unpack to so many times its size and so many bytes; images hardly compress


class Content:
    """The bytes of one file in an archive, for as long as it is that file's turn."""

    def __init__(self, raw: IO[bytes], archive: Path) -> None:
        self._raw, self._archive = raw, archive

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, or say that the archive ends too soon."""
        try:
            return self._raw.read(size)
        except BROKEN as error:
            raise _refusal(self._archive, error) from error


def unpacked_limit(packed: int) -> int:
    """Return the most bytes that a file of so many may unpack to."""
    return RATIO * packed + ROOM


def check_unpacked(size: int, packed: int, path: object) -> None:
    """Refuse what unpacks to far more than a file of its size can hold."""
    if size > (limit := unpacked_limit(packed)):
        raise ValueError(f"{path}: unpacks to more than {limit:,} bytes; do not trust this file")


def unpack(stream: io.BufferedIOBase, packed: int, path: object) -> bytes:
    """Return all bytes of a stream that decompresses so many packed ones, up to its checksum."""
    raw = stream.read(unpacked_limit(packed) + 1)
    check_unpacked(len(raw), packed, path)
    return raw


Member = tuple[PurePosixPath, Content]


def members(path: Path, progress: Progress) -> Iterator[Member]:
    """Go through an archive's files in order; a link, a device or a path that leaves the folder is an error."""
    try:
        if zipfile.is_zipfile(path):
            yield from _zip(path, progress)
        else:
            yield from _tar(path, progress)
    except BROKEN as error:
        raise _refusal(path, error) from error


def extract(path: Path, folder: Path, progress: Progress, name: Callable[[PurePosixPath], PurePosixPath | None]) -> int:
    """Write an archive's files into a folder and return how many.

    Args:
        name: where inside the folder a file goes, from its path in the archive; None leaves it out.
    """
    count = 0
    for inside, content in members(path, progress):
        to = name(inside)
        if to is None:
            continue
        target = folder / safe_path(str(to), path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        count += 1
    return count


def safe_path(name: str, archive: Path) -> PurePosixPath:
    """Return a member's path, or refuse one that is absolute, climbs out, or would on another system."""
    path = PurePosixPath(name)
    parts = [part for part in path.parts if part != "."]
    if not parts or path.is_absolute() or ".." in parts or any(mark in name for mark in ("\\", ":", "\0")):
        raise ValueError(f"{archive}: its member {name!r} would be written outside the folder; do not trust this file")
    return PurePosixPath(*parts)


def _refusal(path: Path, error: Exception) -> Exception:
    if isinstance(error, OSError) and error.errno is not None:
        return error  # of the disk; what decompresses has no numbers for its errors
    return ValueError(f"{path}: not a whole archive ({error}); delete it and fetch it again")


def _tar(path: Path, progress: Progress) -> Iterator[Member]:
    total = path.stat().st_size
    with path.open("rb") as raw, tarfile.open(fileobj=raw, mode="r:*") as archive:
        unpacked = 0
        while (member := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]  # there may be a million
            progress(f"opening {path.name}", raw.tell(), total)
            unpacked += member.size
            check_unpacked(unpacked, total, path)
            if member.isdir():
                continue
            if not member.isreg():
                raise ValueError(f"{path}: its member {member.name!r} is no plain file; do not trust this archive")
            content = archive.extractfile(member)
            if content is not None:
                yield safe_path(member.name, path), Content(content, path)
        if archive.fileobj is raw:  # not compressed: then only the block of zeros at its end tells that it is whole
            raw.seek(archive.offset)
            if len(raw.read(tarfile.BLOCKSIZE)) < tarfile.BLOCKSIZE:
                raise tarfile.ReadError("it has no end")
        while block := archive.fileobj.read(1 << 20):  # up to the checksum behind the last file
            unpacked += len(block)
            check_unpacked(unpacked, total, path)
        progress(f"opening {path.name}", total, total)


def _zip(path: Path, progress: Progress) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        files = [info for info in archive.infolist() if not info.is_dir()]
        check_unpacked(sum(info.file_size for info in files), path.stat().st_size, path)
        for done, info in enumerate(files, 1):
            if (info.external_attr >> 16) & 0o170000 == LINK:
                raise ValueError(f"{path}: its member {info.filename!r} is a link; do not trust this archive")
            if info.flag_bits & ENCRYPTED:
                raise ValueError(f"{path}: its member {info.filename!r} is encrypted; unpack and pack it again without")
            with archive.open(info) as content:
                yield safe_path(info.filename, path), Content(content, path)
            progress(f"opening {path.name}", done, len(files))
