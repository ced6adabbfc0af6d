"""The zoo: a name gives a model; `timm:NAME`, `torchvision:NAME`, `hf:NAME` or `FILE.py:factory`."""

import importlib
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn


def load(name: str, weights: str | os.PathLike[str] | None = None) -> nn.Module:
    """Return the model of a name, in eval mode, with a file of weights if one is given."""
    kind, _, rest = name.partition(":")
    if kind.endswith(".py"):
        model = _own(Path(kind), rest)
    elif kind in LIBRARIES and rest:
        model = LIBRARIES[kind](rest)
    else:
        raise ValueError(f"no model {name!r}; name it timm:NAME, torchvision:NAME, hf:NAME or FILE.py:factory")
    if weights is not None:
        model.load_state_dict(read_weights(weights))
    return model.eval()


def read_weights(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Read a state_dict from safetensors, or from a file that torch wrote; pickled objects are never run."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: there is no such file of weights")
    try:
        if Path(path).suffix == ".safetensors":
            return load_file(path)
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise ValueError(f"{path}: not a whole file of weights ({' '.join(str(error).split())[:120]})") from None
    except Exception as error:  # noqa: BLE001 (an unpickling error, whose module is torch's own affair)
        raise ValueError(f"{path}: holds more than tensors, which is never run ({type(error).__name__})") from None
    if not isinstance(found, dict) or not all(isinstance(value, Tensor) for value in found.values()):
        raise ValueError(f"{path}: not a state_dict of tensors; save model.state_dict()")
    return found


def _own(path: Path, factory: str) -> nn.Module:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    make = getattr(module, factory, None)
    if not callable(make):
        raise ValueError(f"{path}: has no function {factory!r}; name it FILE.py:factory")
    model = make()
    if not isinstance(model, nn.Module):
        raise ValueError(f"{path}:{factory} returned a {type(model).__name__}, not a torch.nn.Module")
    return model


def _library(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(f"{module} is not installed: pip install 'tent-tta[{extra}]'") from missing


def _timm(name: str) -> nn.Module:
    timm = _library("timm", "vision")
    if not timm.is_model(name):
        raise ValueError(f"timm has no model {name!r}; timm.list_models() names them")
    return timm.create_model(name)  # type: ignore[no-any-return]


def _torchvision(name: str) -> nn.Module:
    models = _library("torchvision.models", "vision")
    if name not in models.list_models():
        raise ValueError(f"torchvision has no model {name!r}; torchvision.models.list_models() names them")
    return models.get_model(name, weights=None)  # type: ignore[no-any-return]


def _hf(name: str) -> nn.Module:
    transformers = _library("transformers", "hf")
    try:
        return transformers.AutoModelForImageClassification.from_pretrained(name)  # type: ignore[no-any-return]
    except OSError as error:
        raise OSError(f"hf:{name} cannot be had: {str(error).splitlines()[0]}") from None


LIBRARIES: dict[str, Callable[[str], nn.Module]] = {"timm": _timm, "torchvision": _torchvision, "hf": _hf}
