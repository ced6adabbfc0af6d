"""One file a paper, and how a method is found by its name."""

from tent.files import load_python_file
from tent.method import Method
from tent.methods.bn import BN
from tent.methods.filtered.deyo import DeYO
from tent.methods.filtered.eata import EATA, ETA
from tent.methods.filtered.rdumb import RDumb
from tent.methods.filtered.sar import SAR
from tent.methods.frozen.lame import LAME
from tent.methods.frozen.t3a import T3A
from tent.methods.pl import PL
from tent.methods.shot import SHOT
from tent.methods.source import Source
from tent.methods.tent import Tent
from tent.methods.ttt import TTT

METHODS: dict[str, type[Method]] = {
    "bn": BN,
    "deyo": DeYO,
    "eata": EATA,
    "eta": ETA,
    "lame": LAME,
    "pl": PL,
    "rdumb": RDumb,
    "sar": SAR,
    "shot": SHOT,
    "source": Source,
    "t3a": T3A,
    "tent": Tent,
    "ttt": TTT,
}

__all__ = [
    "BN",
    "EATA",
    "ETA",
    "LAME",
    "METHODS",
    "PL",
    "SAR",
    "SHOT",
    "T3A",
    "TTT",
    "DeYO",
    "RDumb",
    "Source",
    "Tent",
    "find",
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
