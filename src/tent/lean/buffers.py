"""Memory that is reused: a large block that a CPU's allocator hands back has to be made anew, page by page."""

import weakref
from collections import deque
from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LARGE = 1 << 20  # bytes; smaller blocks stay with the allocator anyway
ALIGNMENT = 64  # bytes: a cache line, and the widest vector
RECENT = 8  # passes whose largest need decides how much memory is held
SPARE = 1.1  # a block may be so many times as large as asked for, and all blocks together as what was needed at once

Block = NDArray[np.uint8]


class Buffers:
    """Blocks of memory for large tensors on a CPU; a block is free again when the last tensor on it is gone."""

    def __init__(self, costly: frozenset[int] = frozenset()) -> None:
        self.costly = costly  # addresses of weights whose products are kept rather than recomputed
        self._free: dict[int, list[Block]] = {}  # by size; the size that was asked for last comes last
        self._returned: deque[tuple[Block, int]] = deque()  # by whichever thread let go of a tensor
        self._held = 0  # bytes of all blocks, in use or free
        self._needed = 0  # bytes that tensors on blocks asked for
        self._peaks: deque[int] = deque([0], maxlen=RECENT + 1)  # the most that was needed, pass by pass

    def like(self, x: Tensor) -> Tensor:
        """Return an uninitialised tensor of the shape, strides and type of a dense one."""
        return self.take(x.shape, x, x.stride())

    def take(self, shape: Sequence[int], kind: Tensor, strides: Sequence[int] | None = None) -> Tensor:
        """Return an uninitialised dense tensor of another's type and device; contiguous unless strides are given."""
        size = prod(shape) * kind.element_size()
        strides = strides or _contiguous(shape)
        if size < LARGE or kind.device.type != "cpu":
            return torch.empty_strided(shape, strides, dtype=kind.dtype, device=kind.device)
        block = self._block(size)
        lease = block[:size]  # an object of its own: torch's storage holds it as long as any tensor on it lives
        weakref.finalize(lease, self._returned.append, (block, size)).atexit = False
        storage = torch.from_numpy(lease).untyped_storage()
        return torch.empty(0, dtype=kind.dtype, device="cpu").set_(storage, 0, tuple(shape), tuple(strides))

    def trim(self) -> None:
        """End a pass; let go of what no recent pass would have needed."""
        self._collect()
        self._peaks.append(self._needed)
        self._evict(0)

    @property
    def bytes(self) -> int:
        """The memory that is held, in use or free."""
        return self._held

    def _block(self, size: int) -> Block:
        self._collect()
        self._needed += size
        self._peaks[-1] = max(self._peaks[-1], self._needed)
        blocks = self._free.pop(size, [])
        self._free[size] = blocks
        if not blocks:
            near = [s for s, others in self._free.items() if others and size <= s <= SPARE * size]
            blocks = self._free[min(near)] if near else blocks
        if blocks:
            return blocks.pop()
        self._evict(size)
        self._held += size
        whole = np.empty(size + ALIGNMENT, np.uint8)  # numpy asks the kernel for huge pages
        start = -whole.ctypes.data % ALIGNMENT
        return whole[start : start + size]

    def _collect(self) -> None:
        while self._returned:
            block, needed = self._returned.popleft()
            self._needed -= needed
            self._free.setdefault(block.nbytes, []).append(block)

    def _evict(self, more: int) -> None:
        # make room for so many bytes more; the sizes that were asked for longest ago go first
        for size, blocks in list(self._free.items()):
            while blocks and self._held + more > SPARE * max(self._peaks):
                blocks.pop()
                self._held -= size
            if not blocks:
                del self._free[size]

    def __reduce__(self) -> tuple[type["Buffers"], tuple[frozenset[int]]]:
        return Buffers, (self.costly,)  # a copy starts with none: what is in them is nobody's


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
