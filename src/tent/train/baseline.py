"""The ways to train, by name: plain supervised training, and the baselines that alter it."""

import re
from collections.abc import Callable
from pathlib import Path

from tent.train.objectives import RG, TTT, UDASS, CrossEntropy, Objective
from tent.train.target import KINDS, Target

BASELINES: dict[str, Callable[[], Objective]] = {"source": CrossEntropy, "rg": RG, "uda-ss": UDASS, "ttt": TTT}
BRANCHED = "-rotation"  # how a network with a rotation branch is called


def make_objective(method: str) -> Objective:
    """Return what a method minimises."""
    if method not in BASELINES:
        raise ValueError(f"no way to train called {method!r}; there are {', '.join(BASELINES)}")
    return BASELINES[method]()


def choose_network(method: str, network: str) -> str:
    """Return the network that a method trains where this one is asked for: with a rotation branch for TTT alone."""
    if method == TTT.method:
        return network.removesuffix(BRANCHED) + BRANCHED
    if network.endswith(BRANCHED):
        plain = network.removesuffix(BRANCHED)
        raise ValueError(f"{network} has a rotation branch, which {method} does not train; choose {plain}")
    return network


def model_name(method: str, source: str, target: str = "", network: str = "r26") -> str:
    """Return what a trained model is called, and its folder: `rg-svhn-mnist`, `ttt-cifar10`, `ttt-cifar10-r26-gn`."""
    words = [method, *(_slug(Target.parse(each).word) for each in (source, target) if each)]
    if (own := network.removesuffix(BRANCHED)) != "r26":
        words.append(own)
    return "-".join(words)


def _slug(word: str) -> str:
    kind, _, rest = word.partition(":")
    if kind in KINDS:
        word = f"{kind}-{Path(rest.split(',')[0]).stem}"
    return re.sub(r"[^A-Za-z0-9._]+", "-", word).strip("-")
