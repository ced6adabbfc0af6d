"""Quarters of images, and which of the four places each was cut from: a task that needs no labels."""

import torch
from torch import Tensor

PLACES = 4  # top left, top right, bottom left, bottom right: the label is the place in this order


def quadrants(images: Tensor, places: Tensor) -> Tensor:
    """Return of each image (n, c, h, w) the quarter (c, h/2, w/2) at its own place."""
    if images.dim() != 4 or images.shape[2] % 2 or images.shape[3] % 2:
        raise ValueError(
            f"images of shape {tuple(images.shape)}: only those of even height and width, (n, c, h, w), have quadrants"
        )
    n, channels, height, width = images.shape[0], images.shape[1], images.shape[2] // 2, images.shape[3] // 2
    out = images.new_empty(n, channels, height, width)
    for place in range(PLACES):
        chosen, top, left = places == place, place // 2 * height, place % 2 * width
        out[chosen] = images[chosen, :, top : top + height, left : left + width]
    return out


def drawn(images: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return a quarter of each image from a place drawn at random, and the places, which are the labels."""
    places = torch.randint(PLACES, (len(images),), generator=random).to(images.device)
    return quadrants(images, places), places
