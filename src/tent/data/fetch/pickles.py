"""Pickles, read without running them: plain arrays, bytes, text, numbers, lists and dicts, and nothing else."""

import io
import pickle
import pickletools
from typing import Any

import numpy as np
from numpy.typing import NDArray

PLAIN = {"u1": np.uint8, "i1": np.int8, "i4": np.int32, "i8": np.int64, "f4": np.float32, "f8": np.float64}


BROKEN = (
    *(pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError),
    *(OverflowError, MemoryError),
)


class _Type:
    """Stands in for numpy.dtype."""

    def __init__(self, code: Any = None, *_: Any) -> None:
        text = code.decode("latin1") if isinstance(code, bytes) else str(code)
        if text not in PLAIN:
            raise pickle.UnpicklingError(f"an array of {text!r}")
        self.dtype = np.dtype(PLAIN[text])

    def __setstate__(self, state: Any) -> None:
        order = state[1].decode("latin1") if isinstance(state[1], bytes) else state[1]
        if order not in ("<", "|", "=") or state[2] is not None or state[3] is not None:
            raise pickle.UnpicklingError("an array of a structured or foreign type")


class _Array:
    """Stands in for numpy.ndarray while it is put together."""

    value: NDArray[np.generic]

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, by_column, raw = state
        raw = raw.encode("latin1") if isinstance(raw, str) else raw  # python 2 had one type for both
        if not isinstance(kind, _Type) or not isinstance(raw, bytes):
            raise pickle.UnpicklingError("an array that is not plain bytes")
        flat = np.frombuffer(raw, dtype=kind.dtype)
        self.value = flat.reshape(shape, order="F" if by_column else "C")


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _encode(text: str, encoding: str = "latin1") -> bytes:
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"bytes written as {encoding!r}")
    return text.encode("latin1")


# every name that a pickle of plain arrays asks for, and what it gets: ours, never numpy's nor python's own
ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _encode,  # how python 3 writes bytes for python 2
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ADMITTED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return ADMITTED[module, name]

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to something outside itself")


def read_pickle(raw: bytes, name: str) -> Any:
    """Return the plain data in a pickle; whatever asks for more is refused before anything of it runs."""
    try:
        _check_memo(raw)
        return _plain(_Reader(io.BytesIO(raw), encoding="latin1").load())
    except RecursionError as error:
        raise ValueError(f"{name}: a pickle nested too deep; it was not run, do not trust this file") from error
    except BROKEN as error:
        raise ValueError(f"{name}: not a pickle of plain arrays ({error}); it was not run, do not trust it") from error


def _check_memo(raw: bytes) -> None:
    """Refuse a place in the memo beyond the file's length: python would make room for all places before it."""
    for opcode, value, _ in pickletools.genops(raw):
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and not 0 <= int(value or 0) < len(raw):
            raise pickle.UnpicklingError(f"it keeps something at place {value:,}")


def _plain(value: Any) -> Any:
    if isinstance(value, _Array):
        return value.value
    if isinstance(value, dict):
        return {_key(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, tuple):
        return tuple(_plain(each) for each in value)
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    raise ValueError(f"it holds a {type(value).__name__}")


def _key(key: Any) -> str:
    if isinstance(key, bytes):
        return key.decode("latin1")
    if isinstance(key, str):
        return key
    raise ValueError(f"it has a key of type {type(key).__name__}")
