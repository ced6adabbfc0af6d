"""Models of RobustBench, on CIFAR: images in, scaled to 0..1 and no more; the models normalise for themselves."""

import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tent.data.preprocess import Preprocess
from tent.data.sets.catalog import get_set
from tent.models.entry import Entry
from tent.models.libraries import describe_weights, import_library, short_errors
from tent.models.public import weights_folder

SETS = ("cifar10", "cifar100")  # others need a preprocessing that differs by model
FIRST = ("cifar10", "corruptions")  # the set and the threat of a name that says neither
SAFE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"  # torch's own switch: its files are read, and nothing in them is run


def load_robustbench(name: str, pretrained: bool) -> Entry:
    """Return a model by NAME, for CIFAR-10 and corruptions, or by SET/THREAT/NAME."""
    *place, own = name.split("/")
    if len(place) not in (0, 2):
        raise ValueError(f"robustbench has no model {name!r}; write NAME or SET/THREAT/NAME, as in cifar10/Linf/NAME")
    data, threat = place or FIRST
    if data not in SETS:
        raise ValueError(f"robustbench has no model {name!r} for {' or '.join(SETS)}, which alone are known here")
    utils, zoo = _import_robustbench()
    listed = {each.value: models for each, models in _listed(zoo, data).items()}.get(threat, {})
    if own not in listed:
        raise ValueError(f"robustbench has no model {own!r} for {data} and {threat}; its model_zoo lists them")
    with short_errors(f"robustbench:{name}"), _safe_files():
        folder = weights_folder() / "robustbench"
        model = utils.load_model(own, folder, data, threat) if pretrained else listed[own]["model"]()
    known = get_set(data)
    words = describe_weights("RobustBench", pretrained)
    return Entry(f"robustbench:{name}", model, Preprocess(), known.classes, known.class_names, words)


def _listed(zoo: Any, data: str) -> dict[Any, Any]:
    return next((threats for each, threats in zoo.model_dicts.items() if each.value == data), {})


def _import_robustbench() -> tuple[Any, Any]:
    if importlib.util.find_spec("autoattack") is None and importlib.util.find_spec("pyautoattack") is not None:
        # version 1.1.1 imports autoattack and depends on pyautoattack, which is the same under another name
        for module in ("autoattack", "autoattack.state"):
            sys.modules[module] = importlib.import_module(f"py{module}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of timm and setuptools, on names that it still uses
        modules = ("robustbench.utils", "robustbench.model_zoo")
        utils, zoo = (import_library(module, "robustbench") for module in modules)
    return utils, zoo


@contextmanager
def _safe_files() -> Iterator[None]:
    before = os.environ.get(SAFE)
    os.environ[SAFE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE]
        else:
            os.environ[SAFE] = before
