"""The folder of one training: one run at a time, files that are whole, and never a second recipe."""

import hashlib
import json
import pickle
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from tent.files import atomic_write, lock
from tent.models import cards
from tent.models.cards import CARD, CHECKPOINT, WEIGHTS
from tent.models.weight_files import BROKEN


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Keep a second process out of a folder; one that was made for a run that wrote nothing is taken away again."""
    made, files = not folder.exists(), [folder / name for name in (CHECKPOINT, WEIGHTS, CARD)]
    with lock(folder / ".lock", f"{folder}: another training is under way in it; wait for its end", files):
        try:
            yield
        finally:
            if made and [path.name for path in folder.iterdir()] == [".lock"]:
                shutil.rmtree(folder)  # while it is held, so that nobody else's is removed


def save_checkpoint(state: dict[str, Any], folder: Path) -> None:
    """Put a run's state in its folder; a kill on the way leaves the one before."""
    with atomic_write(folder / CHECKPOINT) as beside:
        torch.save(state, beside)


def read_run(folder: Path) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the card of a finished training in a folder, and the state of an unfinished one, if any."""
    card, state = folder / CARD, folder / CHECKPOINT
    if card.is_file():
        return read_card(card), None
    if state.is_file():
        return None, read_checkpoint(state)
    if (folder / WEIGHTS).exists():
        raise ValueError(f"{folder / WEIGHTS}: weights without a card, not from a training; choose another folder")
    return None, None


def read_card(path: Path) -> dict[str, Any]:
    """Return what a trained model says of itself."""
    card = cards.read_card(path, "choose another folder")
    if not isinstance(card.get("recipe"), dict):
        raise ValueError(f"{path}: a card without a recipe; choose another folder")
    return card


def find_card(weights: Path) -> dict[str, Any] | None:
    """Return the card of some weights, if one lies beside them: `card.json`, or their own name with that ending."""
    cards = [path for path in (weights.with_name(CARD), weights.with_suffix(".json")) if path.is_file()]
    return read_card(cards[0]) if cards else None


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Return the state that a run left, read without running anything in it."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise  # of the disk
    except (pickle.UnpicklingError, *BROKEN) as error:
        raise ValueError(
            f"{path}: not a checkpoint ({type(error).__name__}); delete it or choose another folder"
        ) from error
    if not isinstance(state, dict) or not isinstance(state.get("recipe"), dict):
        raise ValueError(f"{path}: not a checkpoint of a training; delete it or choose another folder")
    return state


def save_model(
    state: Mapping[str, Tensor], card: Mapping[str, object], folder: Path, names: tuple[str, str] = (WEIGHTS, CARD)
) -> dict[str, Any]:
    """Put weights and their card in a folder, the card last: a folder with a card is whole."""
    # not save_file, which leaves a file that others may not read
    weights = save({name: tensor.detach().cpu().contiguous() for name, tensor in state.items()})
    with atomic_write(folder / names[0]) as beside:
        beside.write_bytes(weights)
    complete = {**card, "weights_sha256": hashlib.sha256(weights).hexdigest()}
    with atomic_write(folder / names[1]) as beside:
        beside.write_text(json.dumps(complete, indent=2) + "\n", encoding="utf-8")
    return complete
