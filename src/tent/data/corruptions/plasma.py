"""Clouds: a fractal surface on a torus, made by the diamond-square rule."""

import numpy as np

from tent.data.corruptions.arrays import Floats
from tent.data.corruptions.draws import Draws


def plasma(draws: Draws, size: int, decay: float) -> Floats:
    """Make one map an image, size x size (a power of two), normalised to 0...1."""
    n = len(draws.index)
    noise = draws.opposed((size * size,))
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
