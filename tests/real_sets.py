"""The real sets that a test needs: found, or the test is skipped and says what to do."""

from pathlib import Path

import pytest

from tent.data.sets.catalog import get_set


def folder_or_skip(root: Path, name: str) -> Path:
    """Return a set's folder; without it, skip the test that asks."""
    known = get_set(name)
    folder = known.path(root)
    if not known.pieces_in(folder):
        pytest.skip(f"{name} is not in {root}; {known.hint}; and name the folder of the sets with TENT_DATA")
    return folder
