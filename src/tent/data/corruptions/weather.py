"""Weather in front of the lens: snow and fog; frost and spatter have files of their own."""

import numpy as np

from tent.data.corruptions.arrays import Array, Floats, Images, truncated, unit
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.motion import moved
from tent.data.corruptions.plasma import plasma
from tent.data.corruptions.severities import Constant
from tent.data.corruptions.zoom import Zoom


def snow(images: Images, constant: Constant, draws: Draws) -> Array:
    """Pale the picture, and let flakes fall on it from above, in two crossing layers."""
    mean, deviation, zoom, threshold, radius, sigma, keep = constant
    flakes = draws.normal(images.shape[1:3], mean, deviation)
    flakes = Zoom(zoom).of(flakes.transpose(1, 2, 0)).transpose(2, 0, 1)
    flakes = np.where(flakes < threshold, 0, flakes)
    angles = 90 * draws.spread() - 135
    layer = unit(moved(truncated(flakes), angles, radius, sigma), np.float32)[..., None]
    x = unit(images, np.float32)
    red, green, blue = (
        x[..., channel, None] * np.float32(share) for channel, share in enumerate((0.299, 0.587, 0.114))
    )
    pale = np.maximum(x, (red + green + blue) * np.float32(1.5) + np.float32(0.5))
    return np.asarray(np.float32(keep) * x + np.float32(1 - keep) * pale + layer + layer[:, ::-1, ::-1])


def fog(images: Images, constant: Constant, draws: Draws) -> Array:
    """Lay clouds over the picture, and scale its brightest value back to where it was."""
    amount, decay = constant
    height, width = images.shape[1:3]
    size = 1 << (max(height, width, 2) - 1).bit_length()
    clouds = plasma(draws, size, decay)[:, :height, :width, None]
    peak = unit(images.max((1, 2, 3), keepdims=True), np.float32)
    x: Floats = unit(images, np.float32) + np.float32(amount) * clouds
    return np.asarray(x * (peak / (peak + np.float32(amount))))
