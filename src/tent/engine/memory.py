"""Memory: what a forward pass keeps for its backward pass, and a C library that keeps what is freed."""

import ctypes
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # of glibc's malloc.h
AHEAD = 64 << 20  # bytes asked for beyond what is needed


@dataclass
class Saved:
    """Bytes of the storages that autograd saved, each counted once."""

    storages: dict[int, int] = field(default_factory=dict)  # address -> bytes

    @property
    def bytes(self) -> int:
        """The sum."""
        return sum(self.storages.values())


@contextmanager
def saved(besides: Iterable[Tensor] = ()) -> Iterator[Saved]:
    """Count what autograd saves inside the `with`, besides tensors that are there anyway, such as weights."""
    known = {tensor.untyped_storage().data_ptr() for tensor in besides}
    count = Saved()

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            count.storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield count


def nbytes(tensors: Iterable[Tensor]) -> int:
    """Return the bytes of tensors."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def readable(count: int) -> str:
    """Return a number of bytes as a person writes it."""
    size, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if size >= 100 or unit == "B" else f"{size:.1f} {unit}"


def keep_memory() -> bool:
    """Keep freed memory in this process for its next use, for good; tell whether that could be done.

    It needs glibc, which Linux has and musl, macOS and Windows have not. The process then keeps the most that it ever
    needed at once. Nothing in this library calls it but its own commands.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return False
    settings = ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, -1), (M_TOP_PAD, AHEAD))
    return [libc.mallopt(*setting) for setting in settings] == [1, 1, 1]
