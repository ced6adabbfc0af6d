"""The ways to train, by name: plain supervised training, and the baselines that alter it."""

import re
from collections.abc import Callable
from pathlib import Path

from tent.train.objective import CrossEntropy, Objective
from tent.train.rg import RG
from tent.train.target import KINDS, Target
from tent.train.ttt import TTT
from tent.train.uda_ss import UDASS

BASELINES: dict[str, Callable[[], Objective]] = {"source": CrossEntropy, "rg": RG, "uda-ss": UDASS, "ttt": TTT}
BRANCHED = "-rotation"  # how a network with a rotation branch is called


def objective_of(method: str) -> Objective:
    """What a method minimises."""
    if method not in BASELINES:
        raise ValueError(f"no way to train called {method!r}; there are {', '.join(BASELINES)}")
    return BASELINES[method]()


def network_of(method: str, network: str) -> str:
    """The network that a method trains where this one is asked for: with a rotation branch for TTT alone."""
    if method == TTT.method:
        return network.removesuffix(BRANCHED) + BRANCHED
    if network.endswith(BRANCHED):
        plain = network.removesuffix(BRANCHED)
        raise ValueError(f"{network} has a rotation branch, which {method} does not train; choose {plain}")
    return network


def name_of(method: str, source: str, target: str = "", network: str = "r26") -> str:
    """What a trained model is called, and its folder: `rg-svhn-mnist`, `ttt-cifar10`, `ttt-cifar10-r26-gn`."""
    words = [method, *(_plain(Target.of(each).word) for each in (source, target) if each)]
    if (own := network.removesuffix(BRANCHED)) != "r26":
        words.append(own)
    return "-".join(words)


def _plain(word: str) -> str:
    kind, _, rest = word.partition(":")
    if kind in KINDS:
        word = f"{kind}-{Path(rest.split(',')[0]).stem}"
    return re.sub(r"[^A-Za-z0-9._]+", "-", word).strip("-")
