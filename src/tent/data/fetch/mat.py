"""MATLAB files of version 5, as SVHN and ImageNet's kit are published: numbers, text, structs and cells."""

import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tent.data.fetch.archive import check_unpacked, unpacked_limit

# the format's own numbers: a value's type on disk, and a variable's class
DTYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
MATRIX, COMPRESSED, UTF8 = 14, 15, 16
CELL, STRUCT, CHAR, NUMBERS = 1, 2, 4, range(6, 16)
DEPTH = 8  # cells within cells; the published files need three


def read_mat(raw: bytes, path: object) -> dict[str, Any]:
    """Return a file's variables: numbers as arrays, text as str, a struct as a dict of lists, a cell as a list.

    Args:
        path: what the bytes came from, for the message if they are broken.
    """
    try:
        order = _order(raw[:128])
        found = {}
        for kind, data in _elements(memoryview(raw)[128:], order):
            if kind == COMPRESSED:
                ((kind, data),) = _elements(memoryview(_decompress(data, path)), order)
            if kind != MATRIX:
                raise ValueError(f"an element of type {kind} where a variable belongs")
            name, value = _matrix(data, order, DEPTH)
            found[name] = value
        return found
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, struct.error, zlib.error) as error:
        raise ValueError(f"{path}: not a whole MATLAB 5 file ({error}); delete it and fetch it again") from error


def _decompress(data: memoryview, path: object) -> bytes:
    stream = zlib.decompressobj()
    raw = stream.decompress(data, unpacked_limit(len(data)) + 1)
    check_unpacked(len(raw), len(data), path)
    if not stream.eof:
        raise ValueError("a compressed variable without its end")
    return raw


def _order(header: bytes) -> str:
    if len(header) < 128:
        raise ValueError("shorter than its header")
    order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
    if order is None or struct.unpack(order + "H", header[124:126]) != (0x0100,):
        raise ValueError("its header names another version")
    return order


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from(order + "II", data, at)
        if kind >> 16:  # a small element: type and size share one word, and up to four bytes follow
            kind, size, start, step = kind & 0xFFFF, kind >> 16, at + 4, 8
        else:
            start, step = at + 8, 8 + (size if kind == COMPRESSED else -(-size // 8) * 8)
        if size > len(data) - start:
            raise ValueError(f"{size:,} bytes are said to follow where {max(0, len(data) - start):,} do")
        yield kind, data[start : start + size]
        at += step


def _matrix(data: memoryview, order: str, depth: int) -> tuple[str, Any]:
    if not len(data):
        return "", np.zeros((0, 0))
    if not depth:
        raise ValueError("nested too deep")
    parts = list(_elements(data, order))
    class_ = struct.unpack_from(order + "I", parts[0][1])[0] & 0xFF
    dims = tuple(int(side) for side in np.frombuffer(parts[1][1], order + "i4"))
    name = bytes(parts[2][1]).decode("latin1")
    rest = parts[3:]
    if class_ in NUMBERS:
        return name, np.frombuffer(rest[0][1], order + DTYPES[rest[0][0]]).reshape(dims, order="F")
    if class_ == CHAR:
        return name, _text(*rest[0], order) if rest else ""
    if class_ == CELL:
        return name, [_inner(part, order, depth) for part in rest]
    if class_ == STRUCT:
        return name, _struct(rest, math.prod(dims), order, depth)
    raise ValueError(f"a variable of class {class_}, which is not read")


def _struct(parts: list[tuple[int, memoryview]], count: int, order: str, depth: int) -> dict[str, list[Any]]:
    width = struct.unpack_from(order + "i", parts[0][1])[0]
    raw = bytes(parts[1][1])
    fields = [raw[at : at + width].split(b"\0")[0].decode("latin1") for at in range(0, len(raw), width)]
    values = [_inner(part, order, depth) for part in parts[2:]]
    if len(values) != count * len(fields):
        raise ValueError(f"{len(values)} values for {count} rows of {len(fields)} fields")
    return {field: values[at :: len(fields)] for at, field in enumerate(fields)}


def _inner(part: tuple[int, memoryview], order: str, depth: int) -> Any:
    if part[0] != MATRIX:
        raise ValueError(f"an element of type {part[0]} inside a cell or struct")
    return _matrix(part[1], order, depth - 1)[1]


def _text(kind: int, data: memoryview, order: str) -> str:
    if kind == UTF8:
        return bytes(data).decode("utf-8")
    return "".join(map(chr, np.frombuffer(data, order + DTYPES[kind])))
