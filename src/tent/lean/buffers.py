"""Buffers that are used again: a large block that a CPU's allocator hands back has to be made anew, page by page."""

import sys
from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LARGE = 1 << 20  # bytes; smaller blocks stay with the allocator anyway
ALIGNED = 64  # bytes: a cache line, and the widest vector
KEPT = 8  # passes that a block may lie idle
IDLE = 3  # references to a block that no tensor is on: of the list, of the loop, and of the question itself


class Buffers:
    """Blocks of memory for large tensors on a CPU; a block is free again when the last tensor on it is gone."""

    def __init__(self, costly: frozenset[int] = frozenset()) -> None:
        self.costly = costly  # where weights lie whose products had better stay than be made again
        self._blocks: dict[int, list[NDArray[np.uint8]]] = {}  # by size
        self._asked: dict[int, int] = {}  # size -> the pass that asked for it last
        self._passes = 0

    def like(self, x: Tensor) -> Tensor:
        """Return an uninitialised tensor of the shape, strides and type of a dense one."""
        return self.take(x.shape, x, x.stride())

    def take(self, shape: Sequence[int], kind: Tensor, strides: Sequence[int] | None = None) -> Tensor:
        """Return an uninitialised dense tensor of another's type and device; contiguous unless strides are given."""
        size = prod(shape) * kind.element_size()
        strides = strides or _contiguous(shape)
        if size < LARGE or kind.device.type != "cpu":
            return torch.empty_strided(shape, strides, dtype=kind.dtype, device=kind.device)
        storage = torch.from_numpy(self._free(size)).untyped_storage()  # holds the block while it lives
        return torch.empty(0, dtype=kind.dtype).set_(storage, 0, tuple(shape), tuple(strides))

    def trim(self) -> None:
        """End a pass; let go of sizes that no recent pass has asked for: batches have another shape now."""
        self._passes += 1
        for size in [size for size, last in self._asked.items() if self._passes - last > KEPT]:
            del self._blocks[size], self._asked[size]

    @property
    def bytes(self) -> int:
        """The memory that is held, in use or free."""
        return sum(block.nbytes for blocks in self._blocks.values() for block in blocks)

    def _free(self, size: int) -> NDArray[np.uint8]:
        self._asked[size] = self._passes
        blocks = self._blocks.setdefault(size, [])
        for block in blocks:
            if sys.getrefcount(block) == IDLE:
                return block
        block = np.empty(size + ALIGNED, np.uint8)  # numpy asks the kernel for huge pages
        start = -block.ctypes.data % ALIGNED
        blocks.append(block[start : start + size])
        return blocks[-1]

    def __reduce__(self) -> tuple[type["Buffers"], tuple[frozenset[int]]]:
        return Buffers, (self.costly,)  # a copy starts with none: what is in them is nobody's


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
