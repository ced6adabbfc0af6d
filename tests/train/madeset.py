"""A small made set in the layout of the real ones."""

from pathlib import Path

import numpy as np


def write_set(folder: Path, train: int = 96, test: int = 40, side: int = 8, channels: int = 3, seed: int = 5) -> None:
    """Write noise whose brightness tells the class."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    for split, n in (("train", train), ("test", test)):
        labels = random.permutation(np.arange(n) % 10)
        images = random.integers(0, 60, (n, side, side, channels)) + 18 * labels[:, None, None, None]
        np.save(folder / f"{split}_images.npy", images.astype(np.uint8))
        np.save(folder / f"{split}_labels.npy", labels.astype(np.int64))
