"""Downloads that go on where they stopped, and are only taken for whole when they are what was published."""

import hashlib
import http.client
import math
import os
import shutil
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path

from tent.data.sets.published import File, Progress

ATTEMPTS = 4  # in a row without one new byte
CHUNK = 1 << 20
DROPPED = (urllib.error.URLError, http.client.HTTPException, ssl.SSLError, ConnectionError, TimeoutError)


def download(file: File, to: Path, progress: Progress, pause: float = 0.5) -> None:
    """Fetch one file; what arrived before an interruption is kept beside, as `<name>.part`, and built upon."""
    if file.url is None:
        raise OSError(f"{file.name} has no open link")
    to.parent.mkdir(parents=True, exist_ok=True)
    _check_space(file, to.parent)
    part = part_path(to)
    _request_all(file, file.url, part, progress, pause)
    try:
        verify(file, part, progress)
    except ValueError as error:
        part.unlink()
        raise ValueError(f"{error}; it was deleted, fetch it again") from None
    os.replace(part, to)
    _tag_path(part).unlink(missing_ok=True)


def verify(file: File, path: Path, progress: Progress) -> None:
    """Compare a file with the length and hash that were published, where they were."""
    size = path.stat().st_size
    if file.bytes is not None and size != file.bytes:
        raise ValueError(f"{path}: {size:,} bytes, but {file.bytes:,} were published")
    for kind, due in (("sha256", file.sha256), ("md5", file.md5)):
        if due is not None:
            if (got := _hash(path, kind, progress)) != due:
                raise ValueError(f"{path}: its {kind} is {got}, but {due} was published")
            return


def part_path(path: Path) -> Path:
    """Return the name of a download that is not whole yet."""
    return path.with_name(path.name + ".part")


def _request_all(file: File, url: str, part: Path, progress: Progress, pause: float) -> None:
    """Ask until the server has sent all; whoever sends nothing new is asked a few times only."""
    failures, longest = 0, _length(part)
    while True:
        try:
            return _request(file, url, part, progress)
        except urllib.error.HTTPError as error:
            if error.code != 429 and error.code < 500:
                raise OSError(f"{url}: the server said {error.code} {error.reason}") from error
            failures, why = failures + 1, f"{error.code} {error.reason}"
        except DROPPED as error:
            failures = 0 if _length(part) > longest else failures + 1
            longest = max(longest, _length(part))  # a part that is started over is nothing new
            why = str(getattr(error, "reason", error)) or type(error).__name__
        if failures >= ATTEMPTS:
            raise ConnectionError(f"{url}: {why}") from None
        time.sleep(pause * 2**failures / 2)


def _request(file: File, url: str, part: Path, progress: Progress) -> None:
    have, tag = _length(part), _tag_path(part)
    headers = {"User-Agent": "tent-tta"}
    if have and tag.is_file():
        # if-range: a server whose file changed sends the new one whole, so two files are never mixed
        headers |= {"Range": f"bytes={have}-", "If-Range": tag.read_text()}
    elif have and (file.md5 or file.sha256):
        headers |= {"Range": f"bytes={have}-"}  # should the file have changed, its hash will tell
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            _receive(answer, part, have, file, progress)
    except urllib.error.HTTPError as error:
        error.close()  # it is an answer too, which holds a connection
        if error.code != 416:
            raise
        if error.headers.get("Content-Range", "").rpartition("/")[2] == str(have):
            return  # nothing is left to send: the part is whole
        part.unlink()
        raise ConnectionError("the part on disk is longer than the file; starting over") from error


def _receive(answer: http.client.HTTPResponse, part: Path, have: int, file: File, progress: Progress) -> None:
    resumed = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    start = have if resumed else 0
    length = answer.headers.get("Content-Length")
    total = start + int(length) if length else None
    most = math.inf if file.bytes is None else file.bytes
    if not resumed:
        _save_tag(part, answer.headers.get("ETag") or answer.headers.get("Last-Modified"))
    with part.open("r+b" if resumed else "wb") as out:
        out.seek(start)
        done = start
        while block := answer.read(CHUNK):
            done += len(block)
            if done > most:
                break
            out.write(block)
            progress(f"fetching {file.name}", done, total)
    if done > most:
        part.unlink()
        _tag_path(part).unlink(missing_ok=True)
        raise ValueError(f"{file.url}: sends more than the {file.bytes:,} bytes that were published; nothing was kept")
    if total is not None and done < total:
        raise ConnectionError(f"the connection ended after {done:,} of {total:,} bytes")


def _save_tag(part: Path, tag: str | None) -> None:
    if tag and not tag.startswith("W/"):  # a weak tag does not promise the same bytes
        _tag_path(part).write_text(tag)
    else:
        _tag_path(part).unlink(missing_ok=True)


def _hash(path: Path, kind: str, progress: Progress) -> str:
    digest, done, total = hashlib.new(kind, usedforsecurity=False), 0, path.stat().st_size
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
            done += len(block)
            progress(f"checking {path.name.removesuffix('.part')}", done, total)
    return digest.hexdigest()


def _check_space(file: File, folder: Path) -> None:
    free = shutil.disk_usage(folder).free + _length(part_path(folder / file.name))
    if file.bytes is not None and free < file.bytes:
        raise OSError(
            f"{folder}: {free:,} bytes are free, and {file.name} needs {file.bytes:,}; set TENT_DATA elsewhere"
        )


def _tag_path(part: Path) -> Path:
    return part.with_name(part.name + ".tag")


def _length(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
