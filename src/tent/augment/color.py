"""Colours: brightness, contrast, saturation, hue and gamma of images in [0, 1], by one factor or one an image."""

import torch
from torch import Tensor

LUMA = (0.2989, 0.587, 0.114)  # the shares of red, green and blue in grey (ITU-R 601)


def random_jitter(images: Tensor, random: torch.Generator, rows: int = 1) -> Tensor:
    """Return the images after the five changes in random order, as CoTTA's views have them.

    Args:
        rows: how many draws of each factor: 1 for the whole batch, or one an image.
    """
    for which in torch.randperm(len(CHANGES), generator=random).tolist():
        change, low, high = CHANGES[which]
        factor = low + (high - low) * torch.rand(rows, 1, 1, 1, generator=random)
        images = change(images, factor.to(images))
    return images


def adjust_brightness(images: Tensor, factor: Tensor) -> Tensor:
    """Return the images multiplied."""
    return (images * factor).clamp(0, 1)


def adjust_contrast(images: Tensor, factor: Tensor) -> Tensor:
    """Return the images stretched about the mean of their greys."""
    return torch.lerp(_grey(images).mean((1, 2, 3), keepdim=True), images, factor).clamp(0, 1)


def adjust_saturation(images: Tensor, factor: Tensor) -> Tensor:
    """Return the images stretched about grey; without three channels there is no colour to change."""
    return torch.lerp(_grey(images), images, factor).clamp(0, 1) if images.shape[1] == 3 else images


def adjust_hue(images: Tensor, shift: Tensor) -> Tensor:
    """Return the images with hues moved by a share of the full circle; without three channels there are none."""
    if images.shape[1] != 3:
        return images
    red, green, blue = images.unbind(1)
    value = torch.maximum(torch.maximum(red, green), blue)
    chroma = value - torch.minimum(torch.minimum(red, green), blue)
    scale = 1 / chroma.clamp_min(torch.finfo(images.dtype).tiny)
    warm, cool = torch.where(value == green, blue - red, red - green), torch.where(value == green, 2.0, 4.0)
    hue = torch.where(value == red, (green - blue) * scale, warm * scale + cool) + 6 * shift[:, 0]  # in sixths
    away = hue.unsqueeze(1) + images.new_tensor([5, 3, 1]).view(1, 3, 1, 1)
    away = away - 6 * (away / 6).floor()  # a remainder, four times as fast
    return value.unsqueeze(1) - chroma.unsqueeze(1) * torch.minimum(away, 4 - away).clamp(0, 1)


def adjust_gamma(images: Tensor, exponent: Tensor) -> Tensor:
    """Return the images to a power."""
    return images.clamp(1e-8, 1).pow(exponent)


CHANGES = (
    (adjust_brightness, 0.6, 1.4),
    (adjust_contrast, 0.7, 1.3),
    (adjust_saturation, 0.5, 1.5),
    (adjust_hue, -0.06, 0.06),
    (adjust_gamma, 0.7, 1.3),
)


def _grey(images: Tensor) -> Tensor:
    if images.shape[1] != 3:
        return images.mean(1, keepdim=True)
    return (images * images.new_tensor(LUMA).view(1, 3, 1, 1)).sum(1, keepdim=True)
