"""What all tests share: the real data, where it is found."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PREPARE = Path(__file__).resolve().parents[2] / "shared" / "data" / "prepare"


@pytest.fixture(scope="session")
def real_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of the real sets: TENT_DATA, or the small ones that a folder beside the checkout lays out."""
    if told := os.environ.get("TENT_DATA"):
        if not Path(told).is_dir():
            pytest.skip(f"TENT_DATA is {told}, which is not a folder; name one that holds a folder a set")
        return Path(told)
    if not PREPARE.is_file():
        pytest.skip(
            "no real data: name a folder of sets with TENT_DATA (there is no shared/data/prepare to lay them out)"
        )
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # one folder for all workers
    root = base / "real_data"
    with _one_at_a_time(base / "real_data.lock"):
        ran = subprocess.run([sys.executable, str(PREPARE), str(root)], capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip(f"the real data could not be laid out: {ran.stderr.strip()[-300:]}")
    return root


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    fcntl = pytest.importorskip("fcntl")
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
