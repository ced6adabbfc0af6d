"""A ViT and a ConvNeXt of CIFAR's size, of timm's classes: they have layer norms, and no statistics of a batch."""

from typing import Any

from torch import Tensor, nn

from tent.models.libraries import import_library

PIXELS, PATCH, HEAD = 32, 4, 64  # an image's side, a patch's, and channels of an attention head
LEAST = 16  # pixels a side that the ConvNeXt halves four times


def vit_cifar(classes: int = 10, channels: int = 3, width: float = 1) -> nn.Module:
    """A ViT of 64 patches of 4x4 pixels: six blocks of `width` times 192 channels."""
    transformer: Any = import_library("timm.models.vision_transformer", "vision").VisionTransformer
    size, heads = round(192 * width), max(1, round(192 * width / HEAD))
    if size < 1 or size % heads:
        raise ValueError(f"width {width}: {size} channels do not divide into {heads} heads; choose a multiple of 1/3")
    own = {"embed_dim": size, "depth": 6, "num_heads": heads, "class_token": False, "global_pool": "avg"}
    model: nn.Module = transformer(PIXELS, PATCH, channels, classes, **own)
    model.register_forward_pre_hook(check_side)
    return model


def convnext_cifar(classes: int = 10, channels: int = 3, width: float = 1) -> nn.Module:
    """A ConvNeXt that begins with patches of 2x2 pixels: four stages of `width` times 48, 96, 192 and 384 channels."""
    network: Any = import_library("timm.models.convnext", "vision").ConvNeXt
    sizes = [max(1, round(width * own)) for own in (48, 96, 192, 384)]
    own = {
        "depths": (2, 2, 4, 2),
        "dims": sizes,
        "patch_size": 2,
        "ls_init_value": None,
    }  # layer scale is for deep ones
    model: nn.Module = network(channels, classes, **own)
    model.register_forward_pre_hook(check_least_side)
    return model


def check_least_side(model: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    """Refuse images that the ConvNeXt cannot halve four times."""
    height, width = inputs[0].shape[-2:]
    if min(height, width) < LEAST:
        raise ValueError(
            f"images of {height}x{width}: convnext-cifar takes {LEAST} pixels a side at least; resize them with --size"
            f" {PIXELS}"
        )


def check_side(model: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    """Refuse images of another side than the ViT's places are for."""
    height, width = inputs[0].shape[-2:]
    if (height, width) != (PIXELS, PIXELS):
        raise ValueError(
            f"images of {height}x{width}: vit-cifar takes {PIXELS}x{PIXELS}; resize them with --size {PIXELS}"
        )
