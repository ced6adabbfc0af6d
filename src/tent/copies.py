"""Copies of images that differ: shifted and mirrored at random, one image at a time."""

import torch
from torch import Tensor


def shifted(images: Tensor, most: int, random: torch.Generator) -> Tensor:
    """Return each image (n, c, h, w) moved by up to `most` pixels along both axes; its edge fills what is left.

    Not black: behind a normalisation, it is not known which value that is.
    """
    by = torch.randint(-most, most + 1, (2, len(images), 1), generator=random)
    for axis, shift in zip((2, 3), by, strict=True):
        size = images.shape[axis]
        places = (torch.arange(size) + shift).clamp(0, size - 1).to(images.device)  # (n, size), where each is from
        shape = (len(images), 1, size, 1) if axis == 2 else (len(images), 1, 1, size)
        images = images.gather(axis, places.view(shape).expand_as(images))
    return images


def mirrored(images: Tensor, random: torch.Generator) -> Tensor:
    """Return the images, each with probability one half with left and right exchanged."""
    chosen = torch.randint(2, (len(images), 1, 1, 1), generator=random).bool()
    return torch.where(chosen.to(images.device), images.flip(3), images)
