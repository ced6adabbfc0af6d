"""Warps: images moved by affine maps, all in one sampling, and blurred."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def warp(images: Tensor, maps: Tensor, edges: str = "border", margin: int = 0) -> Tensor:
    """Return images (n, c, h, w) sampled where affine maps say.

    Args:
        maps: (n, 2, 3) or (1, 2, 3), from a pixel's place (x, y, 1) in what is returned, counted from the centre, to
            its place in the image.
        edges: what lies outside, in the words of `grid_sample`: "border", "reflection" or "zeros".
        margin: pixels to return beyond every side.
    """
    height, width = images.shape[2:]
    y, x = (torch.arange(-margin, side + margin).to(images) - (side - 1) / 2 for side in (height, width))
    rows, columns = torch.meshgrid(y, x, indexing="ij")
    places = torch.stack([columns, rows, torch.ones_like(rows)])
    grid = torch.einsum("kij,jhw->khwi", maps.to(images), places)
    grid = grid / images.new_tensor([max(width - 1, 1) / 2, max(height - 1, 1) / 2])
    grid = grid.expand(len(images), -1, -1, -1)
    return F.grid_sample(images, grid, padding_mode=edges, align_corners=True)


def random_affine(rows: int, height: int, width: int, random: torch.Generator) -> Tensor:
    """Return maps (rows, 2, 3) that turn by up to 15°, scale by up to a tenth and shift by up to an eighth."""
    turn, scale, right, down = (2 * torch.rand(4, rows, generator=random, dtype=torch.float64) - 1).unbind()
    turn, scale = turn * math.radians(15), 1 + scale / 10
    shift = torch.stack([right * width / 8, down * height / 8], 1).round()  # (rows, 2)
    cos, sin = turn.cos() / scale, turn.sin() / scale
    linear = torch.stack([cos, sin, -sin, cos], 1).view(rows, 2, 2)
    return torch.cat([linear, -linear @ shift[:, :, None]], 2)


def blur(images: Tensor, sigma: Tensor, radius: int = 2) -> Tensor:
    """Return images (n, c, h, w) after a Gaussian of each sigma (n or 1,); each side loses `radius` pixels."""
    steps = torch.arange(-radius, radius + 1).to(sigma)
    weights = (-0.5 * (steps / sigma[:, None]) ** 2).softmax(1).to(images)  # (rows, 2 radius + 1)
    for axis in (2, 3):
        size = images.shape[axis] - 2 * radius
        parts = [(images.narrow(axis, i, size), weights[:, i, None, None, None]) for i in range(2 * radius + 1)]
        images = parts[0][0] * parts[0][1]
        for part, weight in parts[1:]:
            images.addcmul_(part, weight)
    return images
