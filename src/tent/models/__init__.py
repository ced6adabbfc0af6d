"""The papers' own networks, and the zoo of trained ones."""

import re
from collections.abc import Callable
from functools import partial

from torch import nn

from tent.models.architectures.layer_norm_nets import convnext_cifar, vit_cifar
from tent.models.architectures.mdeq import MDEQ, mdeq, mdeq_tiny
from tent.models.architectures.new_classifier import build_classifier, is_library_network
from tent.models.architectures.san import SAN, san, san_cifar
from tent.models.densenet import DenseNet
from tent.models.resnet import Norm, ResNet, group_norm, r26
from tent.models.rotation import RotationResNet, r26_rotation
from tent.models.segmenters import SEGMENTERS, HRNet
from tent.models.wide_resnet import wrn40_2

__all__ = [
    "MDEQ",
    "NETWORKS",
    "SAN",
    "SEGMENTERS",
    "DenseNet",
    "HRNet",
    "Norm",
    "ResNet",
    "RotationResNet",
    "find_network",
    "group_norm",
    "is_library_network",
    "mdeq",
    "mdeq_tiny",
    "name_width",
    "r26",
    "r26_rotation",
    "san",
    "san_cifar",
    "wrn40_2",
]

RESIDUAL: dict[str, Callable[..., ResNet]] = {
    "r26": r26,
    "r26w2": partial(r26, width=2),
    "r26-gn": partial(r26, norm=group_norm),
    "r26-rotation": r26_rotation,
    "r26-gn-rotation": partial(r26_rotation, norm=group_norm),
    "wrn-40-2": wrn40_2,
}
SCALED: dict[str, Callable[..., nn.Module]] = {  # of any width, which their name may end with: san10-pair-w0.25
    "san10-pair": partial(san_cifar, "pair"),
    "san10-patch": partial(san_cifar, "patch"),
    "mdeq": mdeq,
    "vit-cifar": vit_cifar,
    "convnext-cifar": convnext_cifar,
}
NETWORKS: dict[str, Callable[..., nn.Module]] = {**RESIDUAL, **SEGMENTERS, **SCALED}
_WIDTH = re.compile(r"(.+)-w(\d+(?:\.\d+)?)")


def find_network(name: str) -> Callable[..., nn.Module]:
    """Return what builds the network of a name.

    That is one such as r26, san10-pair-w0.25 for one at a quarter of its width, or a library's, such as timm:resnet50.
    """
    if name in NETWORKS:
        return NETWORKS[name]
    if is_library_network(name):
        return partial(build_classifier, name)
    scaled = _WIDTH.fullmatch(name)
    if scaled is None or scaled[1] not in SCALED:
        raise ValueError(f"no network {name!r}; there are {', '.join(NETWORKS)}, and a library's, as timm:NAME")
    return partial(SCALED[scaled[1]], width=float(scaled[2]))


def name_width(network: str, width: float) -> str:
    """Return the name of a network at so many times its width."""
    if network not in SCALED:
        raise ValueError(f"{network} has one width; those with a choice are {', '.join(SCALED)}")
    if not 0 < width < float("inf"):
        raise ValueError(f"width must be above 0, not {width}")
    return network if width == 1 else f"{network}-w{width:g}"
