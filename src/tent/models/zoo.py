"""The zoo: a name gives a model, its preprocessing, its number of classes, and where its weights come from."""

import json
import os
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from tent.data.preprocess import Preprocess
from tent.models import NETWORKS
from tent.models.entry import Entry
from tent.models.libraries import LIBRARIES, own

WEIGHTS = Path(__file__).parent / "weights"
SHIPPED = ("r26-cifar10", "r26-svhn", "r26-mnist")
NAMES = f"{', '.join(SHIPPED)}, timm:NAME, torchvision:NAME, hf:NAME or FILE.py:factory"


def load(name: str, weights: str | os.PathLike[str] | None = None, pretrained: bool = True) -> Entry:
    """Return the entry of a name, its model in eval mode.

    Args:
        weights: a file that takes the place of the name's own weights.
        pretrained: whether a library's own weights are wanted; if not, nothing is downloaded.
    """
    kind, _, rest = name.partition(":")
    if name in SHIPPED:
        entry = shipped(name)
    elif kind.endswith(".py") and rest:
        entry = own(kind, rest)
    elif kind in LIBRARIES and rest:
        entry = LIBRARIES[kind](rest, pretrained and weights is None)
    else:
        raise ValueError(f"no model {name!r}; name it {NAMES}")
    if weights is not None:
        _put(entry, weights)
        entry = replace(entry, weights=f"{Path(weights).name}")
    entry.model.eval()
    return entry


def card(name: str) -> dict[str, Any]:
    """Return what is on the card of a shipped model: recipe, data, error, hash."""
    read: dict[str, Any] = json.loads((WEIGHTS / f"{name}.json").read_text(encoding="utf-8"))
    return read


def shipped(name: str) -> Entry:
    """Return a model whose weights are part of the package."""
    about = card(name)
    model = NETWORKS[about["model"]](classes=about["classes"])
    model.load_state_dict(load_file(WEIGHTS / f"{name}.safetensors"))
    preprocess = Preprocess(size=about.get("size"), mean=about["mean"], std=about["std"])
    origin = f"shipped, sha256 {about['weights_sha256'][:12]}"
    return Entry(name, model, preprocess, about["classes"], about["class_names"], origin)


def read_weights(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Read a state_dict from safetensors, or from a file that torch wrote; pickled objects are never run."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: there is no such file of weights")
    try:
        if Path(path).suffix == ".safetensors":
            return load_file(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's thoughts on how a pickle was written
            found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise ValueError(f"{path}: holds more than tensors, which is never run; save model.state_dict()") from None
    except (SafetensorError, RuntimeError, OSError, EOFError, ValueError, KeyError) as error:
        raise ValueError(f"{path}: not a whole file of weights ({' '.join(str(error).split())[:120]})") from None
    found = found.get("state_dict", found) if isinstance(found, dict) else found
    if not isinstance(found, dict) or not all(isinstance(value, Tensor) for value in found.values()):
        raise ValueError(f"{path}: not a state_dict of tensors; save model.state_dict()")
    return found


def _put(entry: Entry, path: str | os.PathLike[str]) -> None:
    state, own_state = read_weights(path), entry.model.state_dict()
    missing = [name for name in own_state if name not in state]
    strange = [name for name in state if name not in own_state]
    if missing or strange:
        first = f"it lacks {missing[0]}" if missing else f"it has {strange[0]}, which the model has not"
        raise ValueError(f"{path}: not the weights of {entry.name}: {first}")
    for name, tensor in state.items():
        if tensor.shape != own_state[name].shape:
            shapes = f"{tuple(tensor.shape)} there, {tuple(own_state[name].shape)} in the model"
            raise ValueError(f"{path}: not the weights of {entry.name}: {name} is {shapes}")
    entry.model.load_state_dict(state)
