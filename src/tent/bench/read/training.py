"""What the training of a model took, as its card has it, in words."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from tent.models import zoo
from tent.train.start import Start

NAMES = {"rg": "RG", "uda-ss": "UDA-SS", "ttt": "TTT"}  # as their papers write them


def is_baseline(training: Mapping[str, Any]) -> bool:
    """Tell whether a training is a method of its own, rather than what any source model has behind it."""
    return str(training.get("method", "source")) != "source"


def budget(training: Mapping[str, Any]) -> str:
    """Return the data that a model was trained on, for how long and from where, and what it took."""
    method, epochs = str(training.get("method", "")), training.get("epochs", 0)
    parts = [
        f"{NAMES.get(method, method)}, {_data(training)}",
        f"{epochs:,} epoch{'' if epochs == 1 else 's'} from {training.get('start') or 'random weights'}",
        f"{training.get('seconds', 0):,.0f} s",
        f"{training.get('forward', 0):,.0f} images forward and {training.get('backward', 0):,.0f} backward",
    ]
    return "; ".join(parts)


def short_budget(training: Mapping[str, Any]) -> str:
    """Return the same in a few words, without the names of the target and what it took."""
    method, epochs = str(training.get("method", "")), training.get("epochs", 0)
    target = " and on its target without" if training.get("target") else ""
    length = f"{epochs:,} epoch{'' if epochs == 1 else 's'} from {_start(training)}"
    return f"{NAMES.get(method, method)}: {length}, on {training.get('source', '')} with labels{target}"


def _start(training: Mapping[str, Any]) -> str:
    start = str(training.get("start") or "random weights")
    name = start.partition(",")[0]
    return f"an earlier {name}" if name in zoo.SHIPPED and start != _shipped_start(name) else name


@cache
def _shipped_start(name: str) -> str:
    """Return what a card calls the weights that ship under a name now."""
    start = Start.find(name)
    return start.words if start else ""


def _data(training: Mapping[str, Any]) -> str:
    source = f"{training.get('source', '')} ({training.get('source_images', 0):,} images with labels)"
    if not training.get("target"):
        return f"{source} and no target"
    return f"{source} and {training['target']} ({training.get('target_images', 0):,} images without)"
