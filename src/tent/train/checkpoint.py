"""The state of a run on disk, always whole: written beside and renamed into place."""

import os
from pathlib import Path
from typing import Any

import torch

NAME = "checkpoint.pt"


def save(state: dict[str, Any], folder: Path) -> None:
    """Put a run's state in its folder; a kill on the way leaves the one before."""
    beside = folder / f".{NAME}.{os.getpid()}"
    with open(beside, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, folder / NAME)


def load(folder: Path) -> dict[str, Any] | None:
    """The state that a run left in its folder, or None for a folder without one."""
    path = folder / NAME
    if not path.is_file():
        return None
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state
