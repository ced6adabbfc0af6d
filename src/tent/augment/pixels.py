"""Pixels: how inputs come from values in [0, 1], which is what colours are changed on."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tent.engine.structures import Inputs, list_tensors, map_tensors

SLACK = 0.01  # beyond [0, 1], for what resizing overshoots


@dataclass(frozen=True)
class Pixels:
    """How inputs were normalised: values in [0, 1], less the mean, by the deviation, each one number or one a channel.

    As it stands, the inputs are in [0, 1] themselves.
    """

    mean: float | Sequence[float] = 0.0
    std: float | Sequence[float] = 1.0

    def __post_init__(self) -> None:
        for name in ("mean", "std"):
            value = getattr(self, name)
            numbers = (value,) if isinstance(value, int | float) else tuple(value)
            if not numbers or not all(isinstance(each, int | float) and math.isfinite(each) for each in numbers):
                raise ValueError(f"Pixels {name} must be one number or one a channel, got {value!r}")
            object.__setattr__(self, name, tuple(float(each) for each in numbers))
        if min(self.std) <= 0:  # type: ignore[arg-type]
            raise ValueError(f"Pixels std must be above 0, got {self.std}")

    def decode(self, inputs: Tensor) -> Tensor:
        """Return inputs (n, c, h, w) as values in [0, 1], in single precision at least."""
        inputs = inputs.to(torch.promote_types(inputs.dtype, torch.float32))
        return (inputs * self._column("std", inputs) + self._column("mean", inputs)).clamp(0, 1)

    def encode(self, pixels: Tensor) -> Tensor:
        """Return values in [0, 1] as inputs."""
        return (pixels - self._column("mean", pixels)) / self._column("std", pixels)

    def _column(self, name: str, like: Tensor) -> Tensor:
        numbers = getattr(self, name)
        if len(numbers) not in (1, like.shape[1]):
            raise ValueError(
                f"Pixels {name} {numbers} has {len(numbers)} numbers for images of {like.shape[1]} channels"
            )
        return like.new_tensor(numbers).view(1, -1, 1, 1)


def change_images(inputs: Inputs, change: Callable[[Tensor], Tensor], pixels: Pixels | None, who: str) -> Inputs:
    """Return what a model is called with, its images changed as values in [0, 1].

    Args:
        pixels: how the inputs were normalised; None: they are in [0, 1], or refused.
        who: the method that asks, for messages.
    """
    images = check_images(inputs, pixels, who)
    coding = pixels or Pixels()
    changed = coding.encode(change(coding.decode(images))).to(images.dtype)
    return map_tensors(inputs, lambda _: changed)  # type: ignore[no-any-return]


def check_images(inputs: Inputs, pixels: Pixels | None, who: str) -> Tensor:
    """Return the one batch of images that a model is called with, if views can be made of it; else say why not."""
    images = find_images(inputs, who)
    if pixels is None:
        _require_unit_range(images, who)
    elif not isinstance(pixels, Pixels):
        raise TypeError(f"{who} pixels must be a tent.Pixels(mean, std), got {pixels!r}")
    return images


def find_images(inputs: Inputs, who: str) -> Tensor:
    """Return the one batch of images that a model is called with, or say what was found instead."""
    found = list_tensors(inputs)
    if len(found) != 1 or found[0].dim() != 4 or not found[0].is_floating_point():
        seen = " and ".join(f"{tuple(t.shape)} of {t.dtype}".replace("torch.", "") for t in found) or "no tensor"
        raise ValueError(f"{who} is for one batch of images, (n, c, h, w) of floats, and was given {seen}")
    return found[0]


def _require_unit_range(images: Tensor, who: str) -> None:
    if not images.numel():
        return
    low, high = (float(value) for value in images.aminmax())
    if math.isfinite(low + high) and (low < -SLACK or high > 1 + SLACK):
        raise ValueError(
            f"{who} changes colours, in [0, 1], and was given values from {low:.3g} to {high:.3g}; say how they were "
            f"normalised: tent.{who}(pixels=tent.Pixels(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)))"
        )
