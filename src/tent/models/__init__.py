"""The papers' own networks, and the zoo of trained ones."""

from tent.models.resnet import Norm, ResNet, r26
from tent.models.wide_resnet import wrn40_2

__all__ = ["NETWORKS", "Norm", "ResNet", "r26", "wrn40_2"]

NETWORKS = {"r26": r26, "wrn-40-2": wrn40_2}
