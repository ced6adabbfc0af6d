"""Made images like photographs, and where the real ones lie."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


def natural(count: int, height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    """Make images with the falling spectrum of photographs: edges and surfaces rather than noise."""
    noise = np.random.default_rng(seed).normal(size=(count, height, width, 3))
    cycles = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width))
    cycles[0, 0] = 1 / max(height, width)
    x = np.fft.ifft2(np.fft.fft2(noise, axes=(1, 2)) / cycles[:, :, None], axes=(1, 2)).real
    x /= np.maximum(x.std((1, 2, 3), keepdims=True), 1e-9)
    return np.clip(128 + 50 * x, 0, 255).astype(np.uint8)
