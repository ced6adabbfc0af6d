"""A small made set in the layout of the real ones, for all tests of training."""

from pathlib import Path

import numpy as np
import pytest


def write_set(folder: Path, train: int = 96, test: int = 40, side: int = 8) -> None:
    folder.mkdir(parents=True)
    random = np.random.default_rng(5)
    for split, n in (("train", train), ("test", test)):
        labels = random.permutation(np.arange(n) % 10)
        images = random.integers(0, 60, (n, side, side, 3)) + 18 * labels[:, None, None, None]  # brighter by class
        np.save(folder / f"{split}_images.npy", images.astype(np.uint8))
        np.save(folder / f"{split}_labels.npy", labels.astype(np.int64))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_set(tmp_path / "data" / "cifar10")
    return tmp_path / "data"
