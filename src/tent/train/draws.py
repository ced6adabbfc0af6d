"""Streams of random numbers that never meet: each depends on its own key alone."""

import numpy as np
import torch
from torch import Tensor

ORDER, DRAWS, TARGET_ORDER, TARGET_DRAWS, HEADS = 1, 2, 3, 4, 5  # what a stream is for, after the seed of the run


def generator(*key: int) -> torch.Generator:
    """Random numbers that depend on the key alone."""
    return torch.Generator().manual_seed(int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> 1))


class Passes:
    """Shuffled passes over `total` things, one after another without end, each in an order of its own."""

    def __init__(self, total: int, *key: int) -> None:
        self.total, self.key = total, key
        self.orders: dict[int, Tensor] = {}

    def between(self, first: int, last: int) -> Tensor:
        """What comes at places `first` to `last`, counted from the beginning of the first pass."""
        places = torch.arange(first, last)
        needed = range(first // self.total, (last - 1) // self.total + 1)
        self.orders = {number: self._order(number) for number in needed}
        return torch.cat([order[places[places // self.total == n] % self.total] for n, order in self.orders.items()])

    def _order(self, number: int) -> Tensor:
        if number in self.orders:
            return self.orders[number]
        return torch.randperm(self.total, generator=generator(*self.key, number))
