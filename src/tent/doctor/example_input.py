"""A batch to try a model on, where none is given: its shape as the model itself tells it."""

from typing import Any

import torch
from torch import Tensor, nn

from tent.engine.source_model import eval_mode

SAMPLES = 64  # a usual batch, so that nothing is found that is only of a small one
SIDES = (224, 32, 28, 64, 299, 384)  # of images that nets are made for, the usual one first


def example_input(model: nn.Module, side: int | tuple[int, int] | None = None) -> Tensor:
    """Return random images that the model takes.

    Args:
        side: of the images, where it is known; else it is read from the model, or tried out.
    """
    first = next((layer for layer in model.modules() if isinstance(layer, nn.Conv2d)), None)
    small = first is not None and max(first.stride) == 1 and max(first.kernel_size) <= 3  # no step down at once
    known = side or _own_side(model)
    tried = (known,) if known else sorted(SIDES, key=lambda each: each != 32) if small else SIDES
    for each in tried:
        height, width = each if isinstance(each, tuple) else (each, each)
        samples = SAMPLES if height * width <= 64 * 64 else 8
        images = torch.randn(samples, first.in_channels if first is not None else 3, height, width)
        if _takes(model, images[:2]):
            break
    return images


def _own_side(model: nn.Module) -> int | tuple[int, int] | None:
    config, card = getattr(model, "config", None), getattr(model, "pretrained_cfg", None)
    size: Any = card.get("input_size") if isinstance(card, dict) else getattr(config, "image_size", None)
    if isinstance(size, list | tuple) and len(size) >= 2:
        return int(size[-2]), int(size[-1])
    return size if isinstance(size, int) else None


def _takes(model: nn.Module, images: Tensor) -> bool:
    try:
        with torch.no_grad(), eval_mode(list(model.modules())):
            model(images)
    except (RuntimeError, ValueError, ArithmeticError, TypeError, LookupError, AttributeError, AssertionError):
        return False
    return True
