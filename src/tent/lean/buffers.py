"""Memory that is reused: a large block that a CPU's allocator hands back has to be made anew, page by page."""

import weakref
from bisect import bisect
from collections import deque
from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor

LARGE = 1 << 20  # bytes; smaller blocks stay with the allocator anyway
ALIGNMENT = 64  # bytes: a cache line, and the widest vector
RECENT = 8  # passes whose largest need decides how much memory is held
SPARE = 1.1  # times what was needed at once, to begin with, for the gaps between tensors
LIMIT = 1.6  # times what was needed at once, at most; in between, more was taken where the gaps were too small


class Arena:
    """One piece of memory, and the ranges of it that are free."""

    def __init__(self, size: int) -> None:
        whole = np.empty(size + ALIGNMENT, np.uint8)  # numpy asks the kernel for huge pages
        start = -whole.ctypes.data % ALIGNMENT
        self.memory, self.size = whole[start : start + size], size
        self.free = [(0, size)]  # starts and ends, in order, no two of them adjacent

    @property
    def in_use(self) -> bool:
        """Whether a tensor lies on it."""
        return self.free != [(0, self.size)]

    def take(self, index: int, size: int) -> int:
        """Return the start of so many bytes of a free range, which are free no more."""
        start, end = self.free.pop(index)
        if start + size < end:
            self.free.insert(index, (start + size, end))
        return start

    def give(self, start: int, size: int) -> None:
        """Free a range, as one with those next to it."""
        end, index = start + size, bisect(self.free, (start, 0))
        if index < len(self.free) and self.free[index][0] == end:
            end = self.free.pop(index)[1]
        if index and self.free[index - 1][1] == start:
            start = self.free.pop(index - 1)[0]
            index -= 1
        self.free.insert(index, (start, end))


class Buffers:
    """Memory for large tensors on a CPU; a tensor's part is free again when the last tensor on it is gone."""

    def __init__(self, costly: frozenset[int] = frozenset()) -> None:
        self.costly = costly  # addresses of weights whose products are kept rather than recomputed
        self.recomputes = True  # whether an activation's input may be recomputed for its gradient
        self._reads: list[tuple[Tensor, int]] = []  # what this pass will recompute from, and its version then
        self._arenas: list[Arena] = []
        self._returned: deque[tuple[Arena, int, int]] = deque()  # by whichever thread let go of a tensor
        self._needed = 0  # bytes in use
        self._peaks: deque[int] = deque([0], maxlen=RECENT)  # the most that was in use at once, pass by pass

    def like(self, x: Tensor) -> Tensor:
        """Return an uninitialised tensor of the shape, strides and type of a dense one."""
        return self.take(x.shape, x, x.stride())

    def take(self, shape: Sequence[int], kind: Tensor, strides: Sequence[int] | None = None) -> Tensor:
        """Return an uninitialised dense tensor of another's type and device; contiguous unless strides are given."""
        size = prod(shape) * kind.element_size()
        strides = strides or _contiguous(shape)
        if size < LARGE or kind.device.type != "cpu":
            return torch.empty_strided(shape, strides, dtype=kind.dtype, device=kind.device)
        arena, start = place = self._place(size)
        part = arena.memory[start : start + size]  # an object of its own, which torch's storage holds while it lives
        weakref.finalize(part, self._returned.append, (*place, size)).atexit = False
        storage = torch.from_numpy(part).untyped_storage()
        return torch.empty(0, dtype=kind.dtype, device="cpu").set_(storage, 0, tuple(shape), tuple(strides))

    def trim(self) -> None:
        """End a pass: hold one piece of memory, of the size that the recent passes needed."""
        self._collect()
        self._reads.clear()
        most = max(self._peaks)
        self._peaks.append(self._needed)
        if self.bytes > LIMIT * most:
            self._arenas = [arena for arena in self._arenas if arena.in_use]
            if most and not self._arenas:
                self._arenas = [Arena(int(SPARE * most))]

    def release(self) -> None:
        """Give back all memory that no tensor lies on; the next pass takes it anew."""
        self._collect()
        self._arenas = [arena for arena in self._arenas if arena.in_use]

    def note_reads(self, tensors: Sequence[Tensor]) -> None:
        """Note tensors that the backward pass will read; unlike torch's own functions' they might be written to."""
        self._reads += [(tensor, tensor._version) for tensor in tensors]

    def pop_overwritten(self) -> bool:
        """Tell whether one of those was written to since, and forget them."""
        reads, self._reads = self._reads, []
        return any(tensor._version != version for tensor, version in reads)

    @property
    def bytes(self) -> int:
        """The memory that is held, in use or free."""
        return sum(arena.size for arena in self._arenas)

    def _place(self, size: int) -> tuple[Arena, int]:
        self._collect()
        size = _aligned(size)
        self._needed += size
        self._peaks[-1] = max(self._peaks[-1], self._needed)
        fits = [
            (end - start, number, index)
            for number, arena in enumerate(self._arenas)
            for index, (start, end) in enumerate(arena.free)
            if end - start >= size
        ]
        if not fits:
            self._arenas.append(Arena(size))
        _, number, index = min(fits, default=(0, -1, 0))
        arena = self._arenas[number]
        return arena, arena.take(index, size)

    def _collect(self) -> None:
        while self._returned:
            arena, start, size = self._returned.popleft()
            arena.give(start, _aligned(size))
            self._needed -= _aligned(size)

    def __reduce__(self) -> tuple[type["Buffers"], tuple[frozenset[int]]]:
        return Buffers, (self.costly,)  # a copy starts with none: what is in them is nobody's


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
