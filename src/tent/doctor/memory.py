"""Memory of a step: the bytes that a forward pass keeps for its backward pass."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class Saved:
    """Bytes of the storages that autograd saved, each counted once."""

    storages: dict[int, int] = field(default_factory=dict)  # address -> bytes

    @property
    def bytes(self) -> int:
        """The sum."""
        return sum(self.storages.values())


@contextmanager
def saved_bytes(besides: Iterable[Tensor] = ()) -> Iterator[Saved]:
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
