"""Models with a card: those that ship, and those that a training has left in a folder."""

import hashlib
import json
from pathlib import Path
from typing import Any

from tent.data.place import root
from tent.data.preprocess import Preprocess
from tent.models import NETWORKS
from tent.models.command import command
from tent.models.entry import Entry
from tent.models.state import put_weights

WEIGHTS, CARD, CHECKPOINT = "model.safetensors", "card.json", "checkpoint.pt"  # as a training names them
TRAINED = "trained:"  # how the zoo calls them


def carded(name: str, card: Path, weights: Path, origin: str) -> Entry:
    """Return the model that a card describes, with its weights, which must be those that the card was written for."""
    about = read_card(card)
    try:
        model = NETWORKS[about["model"]](classes=about["classes"])
        preprocess = Preprocess(size=about.get("size"), mean=about["mean"], std=about["std"])
        names, written, training = about["class_names"], about["weights_sha256"], dict(about.get("training") or {})
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{card}: not a card of a network that is known here ({error!r}); train it again") from None
    put_weights(model, name, weights)
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    if found != written:
        raise ValueError(f"{weights}: its hash is {found[:12]}, not {str(written)[:12]} as on its card; train it again")
    origin = f"{origin}, sha256 {found[:12]}"
    return Entry(name, model, preprocess, about["classes"], names, origin, training or None)


def trained(where: str) -> Entry:
    """Return the model of a training: a name in the data folder's `models`, or a folder of one's own."""
    folder = folder_of(where)
    if not finished(where):
        raise FileNotFoundError(f"{TRAINED}{where}: {_gap(where, folder)}")
    return carded(f"{TRAINED}{where}", folder / CARD, folder / WEIGHTS, "trained")


def finished(where: str) -> bool:
    """Tell whether there is a training of a name that has come to its end: its card is written last."""
    return (folder_of(where) / CARD).is_file()


def home_of(name: str) -> Path:
    """Return the folder in which a training of a name lies, or will."""
    return root() / "models" / name


def folder_of(where: str) -> Path:
    """Return the folder of a training; a name comes before a folder of the same name."""
    named, own = home_of(where), Path(where).expanduser()
    return own if own.is_dir() and not named.is_dir() else named


def read_card(path: Path, remedy: str = "train it again") -> dict[str, Any]:
    """Return what is on a card; what is none is said with a remedy."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not a card ({' '.join(str(error).split())}); {remedy}") from None
    if not isinstance(read, dict):
        raise ValueError(f"{path}: not a card; {remedy}")
    return read


def _gap(where: str, folder: Path) -> str:
    if (folder / CHECKPOINT).is_file():
        return f"the training in {folder} has not ended; run its `tent train` again, and it goes on"
    if folder.is_dir():
        return f"{folder} is no folder of a training; it has no {CARD}"
    return f"there is no such training, neither a folder nor in {folder.parent}; make it with: {command(where)}"
