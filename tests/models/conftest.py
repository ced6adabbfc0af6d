"""The real data, where TENT_DATA names it."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    told = os.environ.get("TENT_DATA")
    if not told or not Path(told).is_dir():
        pytest.skip("the real data is not there: no TENT_DATA")
    return Path(told)
