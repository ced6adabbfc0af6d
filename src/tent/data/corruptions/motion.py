"""Motion along a line: a one-sided gaussian of whole-pixel steps, as ImageMagick draws it."""

import numpy as np

from tent.data.corruptions.arrays import Array, Floats, Images, clamped
from tent.data.corruptions.convolution import padded
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.severities import Constant

# sums are rounded to 16 bits before the lower half of them is cut off: half of one part in 257
_ROUNDING = np.float32(0.5 / 257)


def motion_blur(images: Images, constant: Constant, draws: Draws) -> Images:
    """Move the camera along an angle between -45 and 45 degrees."""
    angles = 90 * draws.spread() - 45
    return moved(images, angles, *constant)


def moved(images: Array, angles: Floats, radius: float, sigma: float) -> Images:
    """Smear 8-bit images, one angle in degrees each, over 2 * radius + 1 steps; border pixels repeat."""
    weights = step_weights(radius, sigma)
    reach = len(weights)
    turn = np.deg2rad(angles.astype(np.float64))[:, None]
    rows = reach + np.ceil(np.arange(reach) * np.sin(turn) - 0.5).astype(int)
    columns = reach + np.ceil(np.arange(reach) * np.cos(turn) - 0.5).astype(int)
    height, width = images.shape[1:3]
    wide = padded(images, reach, reach, clamped).astype(np.float32)
    out = np.full(images.shape, _ROUNDING, np.float32)
    term = np.empty(images.shape[1:], np.float32)
    for image, total, down, right in zip(wide, out, rows, columns, strict=True):
        for weight, row, column in zip(weights, down, right, strict=True):
            np.multiply(image[row : row + height, column : column + width], weight, out=term)
            total += term
    return np.minimum(out, 255).astype(np.uint8)


def step_weights(radius: float, sigma: float) -> Floats:
    """Weigh the steps by a normal density; those too far out to be seen are left away."""
    weights = np.exp(-0.5 * (np.arange(2 * int(radius) + 1) / sigma) ** 2)
    weights = weights[weights > 1e-5 * weights.sum()]
    return np.asarray(weights / weights.sum(), np.float32)
