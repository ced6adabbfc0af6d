"""Quarter turns of images, and which of them each image took: the task that test-time training learns from."""

import torch
from torch import Tensor

TURNS = 4  # by 0, 90, 180 and 270 degrees, counter-clockwise: the label is the number of quarter turns


def turned(images: Tensor, turns: Tensor) -> Tensor:
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


def drawn(images: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return images after turns drawn at random, and the turns, which are the labels."""
    turns = torch.randint(TURNS, (len(images),), generator=random).to(images.device)
    return turned(images, turns), turns
