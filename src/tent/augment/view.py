"""Views: one batch of images as another camera, at another moment, may have seen it."""

import torch
from torch import Tensor

from tent.augment.color import random_jitter
from tent.augment.warp import blur, random_affine, warp

NOISE = 0.005  # deviation
SIGMA = (0.001, 0.5)  # of the blur, pixels


def random_view(
    images: Tensor, random: torch.Generator, *, plain: bool = False, edges: str = "border", each: bool = False
) -> Tensor:
    """Return a view of images in [0, 1]: jittered colours, a small affine map, blur, a flip, noise (CoTTA's chain).

    Args:
        plain: without blur and noise.
        edges: what lies outside an image, "border" or "reflection".
        each: draw for each image; else, as published, once for the batch.
    """
    rows, (height, width) = len(images) if each else 1, images.shape[2:]
    images = random_jitter(images, random, rows)
    images = warp(images, random_affine(rows, height, width, random), edges, margin=0 if plain else 2)
    if not plain:
        images = blur(images, SIGMA[0] + (SIGMA[1] - SIGMA[0]) * torch.rand(rows, generator=random))
    flips = torch.randint(2, (rows, 1, 1, 1), generator=random).bool().to(images.device)
    images = torch.where(flips, images.flip(3), images)
    if not plain:
        images = images + NOISE * torch.randn(images.shape, generator=random).to(images)
    return images.clamp(0, 1)


def require_one_prediction(logits: Tensor, who: str) -> None:
    """Refuse logits of pixels or tokens: views move those."""
    if logits.dim() != 2:
        raise ValueError(
            f"{who} compares views that are turned, shifted and mirrored, so it needs one prediction an image, (n, "
            f"classes), and the logits have shape {tuple(logits.shape)}; tent.Tent() does without views"
        )
