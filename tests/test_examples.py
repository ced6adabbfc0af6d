"""Every example runs, and is short."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path) -> None:
    assert len(path.read_text().splitlines()) < 40
    ran = subprocess.run([sys.executable, "-W", "ignore", str(path)], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip()
    assert not list(tmp_path.iterdir())
