"""AugMix: mixtures of chains of mild operations (Hendrycks et al., ICLR 2020), all images at once."""

import math

import torch
from torch import Tensor

from tent.augment.warp import warp

WIDTH, DEPTH = 3, 3  # chains to a mixture, operations to a chain at most
ROTATE, SHEAR_X, SHEAR_Y, SHIFT_X, SHIFT_Y, SOLARIZE, POSTERIZE, CONTRAST, EQUALIZE = range(9)
LEVELS = (0.01, 0.1)  # of the strongest of each: MEMO's severity, 0.1 to 1 of AugMix's 10


def augmix(images: Tensor, random: torch.Generator, resize: bool = False) -> Tensor:
    """Return one mixture of each image in [0, 1] (n, c, h, w), every one with draws of its own.

    Args:
        resize: begin with a resized crop, as for ImageNet, rather than with a shift by up to an eighth, as for CIFAR.
    """
    images = _random_crop(images, random, resize)
    count = len(images)
    chains = images.repeat(WIDTH, 1, 1, 1)
    depths = torch.randint(1, DEPTH + 1, (len(chains),), generator=random)
    for depth in range(DEPTH):
        kinds = torch.randint(9, (len(chains),), generator=random).where(depths > depth, -1)
        levels = LEVELS[0] + (LEVELS[1] - LEVELS[0]) * torch.rand(len(chains), generator=random, dtype=torch.float64)
        signs = 2 * torch.randint(2, (len(chains),), generator=random) - 1
        chains = _operate(chains, kinds, levels, signs)
    weights = -torch.rand(WIDTH, count, 1, 1, 1, generator=random).clamp_min(1e-12).log()
    weights = (weights / weights.sum(0)).to(images)  # uniform among those that add up to 1
    share = torch.rand(count, 1, 1, 1, generator=random).to(images)
    return torch.lerp((weights * chains.view(WIDTH, *images.shape)).sum(0), images, share)


def _operate(images: Tensor, kinds: Tensor, levels: Tensor, signs: Tensor) -> Tensor:
    images = images.clone()
    moved = (kinds >= ROTATE) & (kinds <= SHIFT_Y)
    if moved.any():
        maps = _affine_maps(kinds[moved], levels[moved], signs[moved], *images.shape[2:])
        images[moved] = warp(images[moved], maps, "zeros")
    for kind, change in COLORS.items():
        chosen = kinds == kind
        if chosen.any():
            images[chosen] = change(images[chosen], levels[chosen].view(-1, 1, 1, 1).to(images))
    return images


def _affine_maps(kinds: Tensor, levels: Tensor, signs: Tensor, height: int, width: int) -> Tensor:
    # turns by whole degrees, shifts by whole pixels, shears about the upper left corner
    maps = torch.eye(2, 3, dtype=torch.float64).repeat(len(kinds), 1, 1)
    turn = torch.deg2rad((levels * 30).floor() * signs) * (kinds == ROTATE)
    maps[:, 0, 0] = maps[:, 1, 1] = turn.cos()
    maps[:, 0, 1], maps[:, 1, 0] = turn.sin(), -turn.sin()
    for axis, shear, shift, side, across in (
        (0, SHEAR_X, SHIFT_X, width, height),
        (1, SHEAR_Y, SHIFT_Y, height, width),
    ):
        lean = levels * 0.3 * signs * (kinds == shear)
        maps[:, axis, 1 - axis] += lean
        maps[:, axis, 2] = lean * across / 2 + (levels * side / 3).floor() * signs * (kinds == shift)
    return maps


def solarize(images: Tensor, levels: Tensor) -> Tensor:
    """Return the images with their brightest values inverted."""
    return torch.where(images * 255 < 256 - (levels * 256).floor(), images, 1 - images)


def posterize(images: Tensor, levels: Tensor) -> Tensor:
    """Return the images in four bits less a level's share of four, which is less than one."""
    return ((images * 255).round() / 16).floor() * 16 / 255


def autocontrast(images: Tensor, levels: Tensor) -> Tensor:
    """Return the images with each channel stretched to [0, 1]; one of a single value stays."""
    low, high = images.amin((2, 3), keepdim=True), images.amax((2, 3), keepdim=True)
    return torch.where(high > low, (images - low) / (high - low).clamp_min(torch.finfo(images.dtype).tiny), images)


def equalize(images: Tensor, levels: Tensor) -> Tensor:
    """Return the images with each channel's values spread evenly, by its histogram of 256 bins."""
    values = (images * 255).round().long().flatten(2)  # (n, c, pixels)
    counts = torch.zeros(*values.shape[:2], 256, dtype=torch.long, device=images.device)
    counts.scatter_add_(2, values, torch.ones_like(values))
    step = (values.shape[2] - counts.gather(2, values.amax(2, keepdim=True))) // 255  # the last bin does not count
    table = ((step // 2 + counts.cumsum(2) - counts) // step.clamp_min(1)).clamp_max(255)
    spread = table.gather(2, values).view_as(images).to(images) / 255
    return torch.where(step.unsqueeze(3) > 0, spread, images)


COLORS = {SOLARIZE: solarize, POSTERIZE: posterize, CONTRAST: autocontrast, EQUALIZE: equalize}


def _random_crop(images: Tensor, random: torch.Generator, resize: bool) -> Tensor:
    count, (height, width) = len(images), images.shape[2:]
    draws = torch.rand(4, count, generator=random, dtype=torch.float64)
    scale_x = scale_y = torch.ones(count, dtype=torch.float64)
    if resize:  # 8% to 100% of the area, sides of 3:4 to 4:3
        area, ratio = 0.08 + 0.92 * draws[2], torch.exp((2 * draws[3] - 1) * math.log(4 / 3))
        scale_x, scale_y = (area * ratio).sqrt().clamp_max(1), (area / ratio).sqrt().clamp_max(1)
        right, down = (draws[0] - 0.5) * width * (1 - scale_x), (draws[1] - 0.5) * height * (1 - scale_y)
    else:
        right, down = (
            ((2 * (side // 8) + 1) * draw).floor() - side // 8
            for side, draw in zip((width, height), draws, strict=False)
        )
    flips = 2 * torch.randint(2, (count,), generator=random) - 1
    zeros = torch.zeros_like(right)
    maps = torch.stack([scale_x * flips, zeros, right, zeros, scale_y, down], 1).view(count, 2, 3)
    return warp(images, maps, "border" if resize else "zeros")
