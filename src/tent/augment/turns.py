"""Turns: batches of images turned, shifted, cut up and mirrored at random."""

import torch
import torch.nn.functional as F
from torch import Tensor

TURNS = 4  # by 0, 90, 180 and 270 degrees, counter-clockwise: the label is the number of quarter turns


def rotate(images: Tensor, turns: Tensor) -> Tensor:
    """Return each square image (n, c, h, w) after its own number of quarter turns, counter-clockwise."""
    if images.dim() != 4 or images.shape[2] != images.shape[3]:
        raise ValueError(
            f"images of shape {tuple(images.shape)}: only square ones, (n, c, h, h), can take quarter turns"
        )
    out = images.clone()
    for turn in range(1, TURNS):
        chosen = turns == turn
        out[chosen] = images[chosen].rot90(turn, (2, 3))
    return out


def random_rotation(images: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return images after quarter turns drawn at random, and the number of turns of each, which are the labels."""
    turns = torch.randint(TURNS, (len(images),), generator=random).to(images.device)
    return rotate(images, turns), turns


def random_shift(images: Tensor, most: int, random: torch.Generator) -> Tensor:
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


def shuffle_patches(images: Tensor, parts: int, random: torch.Generator) -> Tensor:
    """Return each image (n, c, h, w) cut into parts x parts patches that are laid out anew in an order of its own.

    Where the parts do not divide a side, the image is scaled down to a side that they do, and back afterwards.
    """
    n, channels, *size = images.shape
    if min(size) < parts:
        raise ValueError(f"images of {size[0]}x{size[1]} pixels cannot be cut into {parts}x{parts} patches")
    high, wide = (side // parts for side in size)
    images = _scale(images, [high * parts, wide * parts])
    order = torch.rand(n, parts * parts, generator=random).argsort(1).to(images.device)
    patches = images.reshape(n, channels, parts, high, parts, wide).permute(0, 2, 4, 1, 3, 5).flatten(1, 2)
    patches = patches[torch.arange(n, device=images.device)[:, None], order]  # (n, parts * parts, c, high, wide)
    laid = patches.view(n, parts, parts, channels, high, wide).permute(0, 3, 1, 4, 2, 5)
    return _scale(laid.reshape(n, channels, high * parts, wide * parts), size)


def random_flip(images: Tensor, random: torch.Generator) -> Tensor:
    """Return the images, each with left and right exchanged with probability one half."""
    chosen = torch.randint(2, (len(images), 1, 1, 1), generator=random).bool()
    return torch.where(chosen.to(images.device), images.flip(3), images)


def _scale(images: Tensor, size: list[int]) -> Tensor:
    if list(images.shape[2:]) == size or not len(images):
        return images.reshape(len(images), images.shape[1], *size)
    return F.interpolate(images, size, mode="bilinear", antialias=True)
