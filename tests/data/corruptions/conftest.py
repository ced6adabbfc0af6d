"""Clean images for the corruptions: made ones everywhere, real ones where they are found."""

import fcntl
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


def laid_out(folder: Path) -> Path:
    """Lay CIFAR-10 out by the script beside the checkout; one process does it while the others wait."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "cifar10").is_dir() and (SHARED / "prepare").exists():
            command = [sys.executable, str(SHARED / "prepare"), str(folder), "cifar10"]
            subprocess.run(command, check=False, timeout=250, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def cifar(tmp_path_factory: pytest.TempPathFactory) -> NDArray[np.uint8]:
    """Read the first 64 test images of CIFAR-10, from TENT_DATA or laid out for this run."""
    told = os.environ.get("TENT_DATA")
    root = Path(told) if told else laid_out(tmp_path_factory.getbasetemp().parent / "real_data")
    file = root / "cifar10" / "test_images.npy"
    if not file.exists():
        pytest.skip("CIFAR-10 is not here; set TENT_DATA to the folder that holds cifar10/test_images.npy")
    return np.load(file, mmap_mode="r")[:64]
