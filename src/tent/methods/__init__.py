"""One file a paper, and how a method is found by its name."""

from collections.abc import Sequence
from dataclasses import is_dataclass, replace

from tent.augment import Pixels
from tent.files import load_python_file
from tent.method import Method
from tent.methods.bn import BN
from tent.methods.continual.cmf import CMF
from tent.methods.continual.cotta import CoTTA
from tent.methods.continual.roid import ROID
from tent.methods.continual.rotta import RoTTA
from tent.methods.memo import MEMO
from tent.methods.pl import PL
from tent.methods.source import Source
from tent.methods.tent import Tent
from tent.methods.ttt import TTT

METHODS: dict[str, type[Method]] = {
    "bn": BN,
    "cmf": CMF,
    "cotta": CoTTA,
    "memo": MEMO,
    "pl": PL,
    "roid": ROID,
    "rotta": RoTTA,
    "source": Source,
    "tent": Tent,
    "ttt": TTT,
}

__all__ = [
    "BN",
    "CMF",
    "MEMO",
    "METHODS",
    "PL",
    "ROID",
    "TTT",
    "CoTTA",
    "RoTTA",
    "Source",
    "Tent",
    "find",
    "with_pixels",
]


def find(name: str) -> type[Method]:
    """Return a method's class by its name, or a user's own as FILE.py:Class."""
    if name in METHODS:
        return METHODS[name]
    path, colon, own = name.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise ValueError(f"no method {name!r}; there are {', '.join(METHODS)}, and your own as FILE.py:Class")
    found = getattr(load_python_file(path), own, None)
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise ValueError(f"{path}: {own!r} is not a subclass of tent.Method in it; name one as FILE.py:Class")
    return found


def with_pixels(method: Method, mean: Sequence[float] | None, std: Sequence[float] | None) -> Method:
    """Return the method, told how inputs are normalised if it makes views of them and was not told."""
    if mean is None or std is None or not is_dataclass(method) or getattr(method, "pixels", method) is not None:
        return method
    return replace(method, pixels=Pixels(mean, std))
