"""One file a paper, and how a method is found by its name."""

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
    "source": Source,
    "bn": BN,
    "cmf": CMF,
    "cotta": CoTTA,
    "memo": MEMO,
    "pl": PL,
    "roid": ROID,
    "rotta": RoTTA,
    "tent": Tent,
    "ttt": TTT,
}

__all__ = ["BN", "CMF", "MEMO", "METHODS", "PL", "ROID", "TTT", "CoTTA", "RoTTA", "Source", "Tent", "find"]


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
