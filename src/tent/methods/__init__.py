"""One file a paper, and the dictionary that finds a method by its name."""

from tent.method import Method
from tent.methods.bn import BN
from tent.methods.pl import PL
from tent.methods.source import Source
from tent.methods.tent import Tent

METHODS: dict[str, type[Method]] = {"source": Source, "bn": BN, "pl": PL, "tent": Tent}

__all__ = ["BN", "METHODS", "PL", "Source", "Tent"]
