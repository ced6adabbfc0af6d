"""Clean images for the corruptions: made ones everywhere, real ones where they are found."""

from pathlib import Path

import numpy as np
import pytest
from corruption_images import natural
from numpy.typing import NDArray


@pytest.fixture(scope="session")
def images() -> NDArray[np.uint8]:
    return natural(8, 32, 32)


@pytest.fixture(scope="session")
def cifar(real_data: Path) -> NDArray[np.uint8]:
    """Read the first 64 test images of CIFAR-10."""
    return np.load(real_data / "cifar10" / "test_images.npy", mmap_mode="r")[:64]
