"""Weights on disk: read without running anything in them, and put into a model that they fit."""

import os
import pickle
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

# what torch and safetensors raise on a damaged file
BROKEN = (SafetensorError, RuntimeError, OSError, EOFError, ValueError, TypeError, LookupError, AttributeError)


def read_weights(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Read a state_dict from safetensors, or from a file that torch wrote; pickled objects are never run."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: there is no such file of weights")
    try:
        if Path(path).suffix == ".safetensors":
            return strip_wrapper(load_file(path))
        with warnings.catch_warnings(), _ignore_numpy_scalars():
            warnings.simplefilter("ignore")  # torch's thoughts on how a pickle was written
            found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise ValueError(f"{path}: holds more than tensors, which is never run; save model.state_dict()") from None
    except BROKEN as error:
        raise ValueError(f"{path}: not a whole file of weights ({' '.join(str(error).split())[:120]})") from None
    found = found.get("state_dict", found) if isinstance(found, dict) else found
    if not isinstance(found, dict) or not all(isinstance(value, Tensor) for value in found.values()):
        raise ValueError(f"{path}: not a state_dict of tensors; save model.state_dict()")
    return strip_wrapper(found)


class NumpyStub:
    """What stands for a number of numpy's in a file of weights: nothing is made of it."""

    def __init__(self, *given: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        pass


# a score of the training beside the weights; numpy has moved its module since
NUMPY_STUBS = [
    type(name, (NumpyStub,), {"__module__": module})
    for module, name in (("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar"), ("numpy", "dtype"))
]


def _ignore_numpy_scalars() -> AbstractContextManager[None]:
    """Let torch pass over numpy's numbers; the first versions of it that we take cannot, and refuse the file."""
    allow = getattr(torch.serialization, "safe_globals", None)
    return nullcontext() if allow is None else allow(NUMPY_STUBS)


def strip_wrapper(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return a state_dict without the `module.` that DataParallel, or `_orig_mod.` that torch.compile, puts first."""
    for prefix in ("module.", "_orig_mod."):
        if state and all(name.startswith(prefix) for name in state):
            return strip_wrapper({name.removeprefix(prefix): tensor for name, tensor in state.items()})
    return state


def load_weights(model: nn.Module, name: str, path: str | os.PathLike[str]) -> None:
    """Load a file's weights into a model, called by its name: all of them or none."""
    state, own = read_weights(path), model.state_dict()
    if rename := getattr(model, "rename", None):  # of a network that was published under other names
        try:
            state = rename(state)
        except ValueError as error:
            raise ValueError(f"{path}: not the weights of {name}: {error}") from None
    missing = [each for each in own if each not in state]
    strange = [each for each in state if each not in own]
    if missing or strange:
        first = f"it lacks {missing[0]}" if missing else f"it has {strange[0]}, which the model has not"
        raise ValueError(f"{path}: not the weights of {name}: {first}")
    for each, tensor in state.items():
        if tensor.shape != own[each].shape:
            shapes = f"{tuple(tensor.shape)} there, {tuple(own[each].shape)} in the model"
            raise ValueError(f"{path}: not the weights of {name}: {each} is {shapes}{_explain_classes(state, own)}")
    model.load_state_dict(state)


def _explain_classes(state: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> str:
    """Return a remedy if weights differ from a model's in the rows of one layer alone: they are of other classes."""
    pairs = {name: (tensor, own[name]) for name, tensor in state.items() if tensor.shape != own[name].shape}
    layers = {name.rpartition(".")[0] for name in pairs}
    counts = {(there.shape[:1], here.shape[:1]) for there, here in pairs.values()}
    if len(layers) > 1 or len(counts) > 1 or any(there.shape[1:] != here.shape[1:] for there, here in pairs.values()):
        return ""
    there, here = next(iter(pairs.values()))
    if not there.dim() or not here.dim():
        return ""
    return (
        f"; they seem to be of {len(there)} classes and not of {len(here)}: name a model of {len(there)} classes, or"
        " the folder that `tent train` left them in, as trained:FOLDER"
    )
