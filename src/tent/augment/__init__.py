"""Augmentation: views of a batch of images, each draw from a given generator."""

from tent.augment.augmix import augmix
from tent.augment.pixels import Pixels, change_images, check_images, find_images
from tent.augment.turns import TURNS, random_flip, random_rotation, random_shift, rotate, shuffle_patches
from tent.augment.view import random_view, require_one_prediction

__all__ = [
    "TURNS",
    "Pixels",
    "augmix",
    "change_images",
    "check_images",
    "find_images",
    "random_flip",
    "random_rotation",
    "random_shift",
    "random_view",
    "require_one_prediction",
    "rotate",
    "shuffle_patches",
]
