"""Weather in front of the lens: snow and fog; frost and spatter have files of their own."""

import numpy as np

from tent.data.corruptions.blur import enlarge, smear
from tent.data.corruptions.constants import Constant
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.filters import Array, Floats, Images, to_bytes, to_unit


def snow(images: Images, constant: Constant, draws: Draws) -> Array:
    """Pale the picture, and let flakes fall on it from above, in two crossing layers."""
    mean, deviation, zoom, threshold, radius, sigma, keep = constant
    flakes = draws.normal(images.shape[1:3], mean, deviation)
    flakes = enlarge(flakes.transpose(1, 2, 0), zoom).transpose(2, 0, 1)
    flakes = np.where(flakes < threshold, 0, flakes)
    angles = 90 * draws.low_discrepancy() - 135
    layer = to_unit(smear(to_bytes(flakes), angles, radius, sigma), np.float32)[..., None]
    x = to_unit(images, np.float32)
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
    peak = to_unit(images.max((1, 2, 3), keepdims=True), np.float32)
    x: Floats = to_unit(images, np.float32) + np.float32(amount) * clouds
    return np.asarray(x * (peak / (peak + np.float32(amount))))


def plasma(draws: Draws, size: int, decay: float) -> Floats:
    """Make one map an image, size x size (a power of two), normalised to 0...1."""
    n = len(draws.index)
    noise = draws.antithetic((size * size,))
    out = np.zeros((n, size, size), np.float32)
    step, wobble, used = size, 100.0, 0
    while step > 1:
        half, cells = step // 2, size // step
        corners, centres = out[:, ::step, ::step], out[:, half::step, half::step]
        across, down = out[:, ::step, half::step], out[:, half::step, ::step]
        parts = noise[:, used : used + 3 * cells * cells].reshape(n, 3, cells, cells)
        pairs = corners + np.roll(corners, -1, 2)
        _fill(centres, pairs + np.roll(pairs, -1, 1), parts[:, 0], wobble)
        _fill(across, pairs + centres + np.roll(centres, 1, 1), parts[:, 1], wobble)
        _fill(down, corners + np.roll(corners, -1, 1) + centres + np.roll(centres, 1, 2), parts[:, 2], wobble)
        used += 3 * cells * cells
        step, wobble = half, wobble / decay
    out -= out.min((1, 2), keepdims=True)
    out /= out.max((1, 2), keepdims=True)
    return out


def _fill(target: Floats, around: Floats, noise: Floats, wobble: float) -> None:
    """Set points to the mean of the four around them, plus noise; the rule multiplies by the wobble twice."""
    around *= np.float32(0.25)
    around += noise * np.float32(wobble**2)
    target[...] = around
