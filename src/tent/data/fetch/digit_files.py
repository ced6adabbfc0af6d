"""The digits' own file formats: MNIST's idx and USPS's rows of text."""

import bz2
import gzip
import io
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tent.data.fetch.archive import unpack

UBYTE = 0x08  # the idx code of unsigned bytes


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the array of unsigned bytes in an idx file, gzipped or not."""
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = unpack(gzip.GzipFile(fileobj=io.BytesIO(raw)), len(raw), path)
        zero, kind, axes = struct.unpack_from(">HBB", raw)
        if zero or kind != UBYTE or not 1 <= axes <= 4:
            raise ValueError("its first bytes are not those of an idx file of bytes")
        shape = struct.unpack_from(f">{axes}I", raw, 4)
        return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(shape)
    except (ValueError, EOFError, OSError, struct.error, zlib.error) as error:
        raise ValueError(f"{path}: not a whole idx file ({error}); delete it and fetch it again") from error


def read_usps(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return USPS's images (n, 16, 16, 1), from -1..1 rounded to 8 bits, and digits (published as 1 to 10)."""
    try:
        with bz2.open(path) as file:
            lines = unpack(file, path.stat().st_size, path).decode("ascii").splitlines()
        pixels = np.zeros((len(lines), 256))
        labels = np.zeros(len(lines), dtype=np.int64)
        for row, line in enumerate(lines):
            label, *pairs = line.split()
            places, values = zip(*(pair.split(":") for pair in pairs), strict=True)
            if [int(place) for place in places] != list(range(1, 257)):
                raise ValueError(f"line {row + 1} does not have the pixels 1 to 256")
            labels[row], pixels[row] = int(label) - 1, [float(value) for value in values]
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path}: not USPS as published ({error}); delete it and fetch it again") from error
    if len(lines) == 0 or labels.min() < 0 or labels.max() > 9 or np.abs(pixels).max() > 1:
        raise ValueError(
            f"{path}: not USPS as published (labels 1 to 10, pixels -1 to 1); delete it and fetch it again"
        )
    return np.rint((pixels + 1) * 127.5).astype(np.uint8).reshape(-1, 16, 16, 1), labels
