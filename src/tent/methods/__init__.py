"""One file a paper, and how a method is found by its name."""

import hashlib
import importlib.util
import sys
from pathlib import Path

from tent.method import Method
from tent.methods.bn import BN
from tent.methods.pl import PL
from tent.methods.source import Source
from tent.methods.tent import Tent
from tent.methods.ttt import TTT

METHODS: dict[str, type[Method]] = {"source": Source, "bn": BN, "pl": PL, "tent": Tent, "ttt": TTT}

__all__ = ["BN", "METHODS", "PL", "TTT", "Source", "Tent", "find"]


def find(name: str) -> type[Method]:
    """Return a method's class by its name, or a user's own as FILE.py:Class."""
    if name in METHODS:
        return METHODS[name]
    path, colon, own = name.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise ValueError(f"no method {name!r}; there are {', '.join(METHODS)}, and your own as FILE.py:Class")
    found = getattr(_load_file(Path(path).expanduser()), own, None)
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise ValueError(f"{path}: {own!r} is not a subclass of tent.Method in it; name one as FILE.py:Class")
    return found


def _load_file(path: Path) -> object:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; name your method as FILE.py:Class")
    name = f"tent_user_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path}: Python cannot load it")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # for dataclasses and pickles, which look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ImportError(f"{path}: {type(error).__name__}: {error}") from error
    return module
