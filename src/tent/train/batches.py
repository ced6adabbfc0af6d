"""What a step of training draws: which images, their crops and their flips, each from random numbers of its own key."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tent.augment.color import random_jitter
from tent.augment.warp import warp

ORDER, DRAWS, TARGET_ORDER, TARGET_DRAWS, HEADS = 1, 2, 3, 4, 5  # what a stream is for, after the seed of the run


def generator(*key: int) -> torch.Generator:
    """Return random numbers that depend on the key alone."""
    return torch.Generator().manual_seed(int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> 1))


class Passes:
    """Shuffled passes over `total` things, one after another without end, each in an order of its own."""

    def __init__(self, total: int, *key: int) -> None:
        self.total, self.key = total, key
        self.orders: dict[int, Tensor] = {}

    def between(self, first: int, last: int) -> Tensor:
        """Return what comes at places `first` to `last`, counted from the beginning of the first pass."""
        places = torch.arange(first, last)
        needed = range(first // self.total, (last - 1) // self.total + 1)
        self.orders = {number: self._order(number) for number in needed}
        return torch.cat([order[places[places // self.total == n] % self.total] for n, order in self.orders.items()])

    def _order(self, number: int) -> Tensor:
        if number in self.orders:
            return self.orders[number]
        return torch.randperm(self.total, generator=generator(*self.key, number))


def random_crop(images: Tensor, pad: int, random: torch.Generator) -> Tensor:
    """Return each image shifted by up to `pad` pixels each way, black where it had no pixels."""  # (n, h, w, c)
    n, height, width, _ = images.shape
    padded = F.pad(images, (0, 0, pad, pad, pad, pad))
    shift = torch.randint(0, 2 * pad + 1, (2, n, 1), generator=random)
    rows, columns = shift[0] + torch.arange(height), shift[1] + torch.arange(width)  # (n, h), (n, w)
    return padded[torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]


def random_flip(images: Tensor, random: torch.Generator) -> Tensor:
    """Return each image mirrored from left to right with probability one half."""  # (n, h, w, c)
    mirror = torch.rand(len(images), generator=random) < 0.5
    return torch.where(mirror[:, None, None, None], images.flip(2), images)


def random_scale(images: Tensor, least: float, greatest: float, random: torch.Generator) -> Tensor:
    """Return each image larger or smaller about its centre, its edges repeated, at its own size."""  # (n, h, w, c)
    factors = least * (greatest / least) ** torch.rand(len(images), generator=random)
    return _to_bytes(warp(_to_shares(images), torch.eye(2, 3) / factors[:, None, None]))


def random_colors(images: Tensor, random: torch.Generator) -> Tensor:
    """Return each image with jittered colours, and as a negative with probability one half."""  # (n, h, w, c)
    jittered = random_jitter(_to_shares(images), random, len(images))
    negative = torch.rand(len(images), 1, 1, 1, generator=random) < 0.5
    return _to_bytes(torch.where(negative, 1 - jittered, jittered))


def _to_shares(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2) / 255  # (n, c, h, w) in [0, 1]


def _to_bytes(images: Tensor) -> Tensor:
    return (images * 255).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous()
