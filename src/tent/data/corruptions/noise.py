"""Noise on each value: gaussian, shot, impulse and speckle."""

import numpy as np

from tent.data.corruptions.constants import Constant
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.filters import Array, Images, to_unit


def gaussian_noise(images: Images, constant: Constant, draws: Draws) -> Array:
    """Add normal noise."""
    noise = draws.normal(images.shape[1:], deviation=constant[0])
    noise += to_unit(images, np.float32)
    return noise


def shot_noise(images: Images, constant: Constant, draws: Draws) -> Array:
    """Count photons: Poisson noise, the stronger the fewer there are."""
    (photons,) = constant
    return draws.poisson(to_unit(images) * photons) / photons


def impulse_noise(images: Images, constant: Constant, draws: Draws) -> Images:
    """Set a share of the values to black or white, each with one half."""
    (share,) = constant
    draw = draws.uniform(images.shape[1:])
    out = np.where(draw < share, np.uint8(255), images)
    out[draw < share / 2] = 0
    return out


def speckle_noise(images: Images, constant: Constant, draws: Draws) -> Array:
    """Add normal noise in proportion to the value."""
    noise = draws.normal(images.shape[1:], 1, constant[0])
    noise *= to_unit(images, np.float32)
    return noise
