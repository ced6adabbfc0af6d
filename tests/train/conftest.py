"""Small made sets, for all tests of training."""

from pathlib import Path

import pytest
from madeset import write_set


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_set(tmp_path / "data" / "cifar10")
    return tmp_path / "data"


@pytest.fixture
def target(root: Path) -> str:
    """A grey target of fewer images than a batch has."""
    write_set(root / "mnist", train=20, channels=1, seed=6)
    return "mnist"
