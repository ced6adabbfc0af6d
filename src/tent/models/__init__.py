"""The papers' own networks, and the zoo of trained ones."""

from collections.abc import Callable
from functools import partial

from torch import nn

from tent.models.densenet import DenseNet
from tent.models.resnet import Norm, ResNet, group_norm, r26
from tent.models.rotation import RotationResNet, r26_rotation
from tent.models.segmenters import SEGMENTERS, HRNet
from tent.models.wide_resnet import wrn40_2

__all__ = [
    "NETWORKS",
    "SEGMENTERS",
    "DenseNet",
    "HRNet",
    "Norm",
    "ResNet",
    "RotationResNet",
    "group_norm",
    "r26",
    "r26_rotation",
    "wrn40_2",
]

NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "r26": r26,
    "r26w2": partial(r26, width=2),
    "r26-gn": partial(r26, norm=group_norm),
    "r26-rotation": r26_rotation,
    "r26-gn-rotation": partial(r26_rotation, norm=group_norm),
    "wrn-40-2": wrn40_2,
    **SEGMENTERS,
}
