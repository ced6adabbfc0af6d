"""Clean images for the corruptions: made ones everywhere, real ones where they are found."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from corruption_images import SHARED, natural
from numpy.typing import NDArray


@pytest.fixture(scope="session")
def images() -> NDArray[np.uint8]:
    return natural(8, 32, 32)


@pytest.fixture(scope="session")
def cifar(tmp_path_factory: pytest.TempPathFactory) -> NDArray[np.uint8]:
    """Read the first 64 test images of CIFAR-10, from TENT_DATA or laid out by the script beside the checkout."""
    root = os.environ.get("TENT_DATA")
    folder = Path(root) if root else tmp_path_factory.getbasetemp().parent / "real_data"
    file = folder / "cifar10" / "test_images.npy"
    if not file.exists() and not root and (SHARED / "prepare").exists():
        subprocess.run([sys.executable, str(SHARED / "prepare"), str(folder), "cifar10"], check=True, timeout=250)
    if not file.exists():
        pytest.skip("CIFAR-10 is not here; set TENT_DATA to the folder that holds cifar10/test_images.npy")
    return np.load(file, mmap_mode="r")[:64]
