"""Random crops and flips of a whole batch of bytes at once."""

import torch
import torch.nn.functional as F
from torch import Tensor


def cropped(images: Tensor, pad: int, random: torch.Generator) -> Tensor:
    """Each image shifted by up to `pad` pixels each way, black where it had no pixels."""  # (n, h, w, c)
    n, height, width, _ = images.shape
    padded = F.pad(images, (0, 0, pad, pad, pad, pad))
    shift = torch.randint(0, 2 * pad + 1, (2, n, 1), generator=random)
    rows, columns = shift[0] + torch.arange(height), shift[1] + torch.arange(width)  # (n, h), (n, w)
    return padded[torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]


def flipped(images: Tensor, random: torch.Generator) -> Tensor:
    """Each image mirrored from left to right with probability one half."""  # (n, h, w, c)
    mirror = torch.rand(len(images), generator=random) < 0.5
    return torch.where(mirror[:, None, None, None], images.flip(2), images)
