"""One file a paper, and the dictionary that finds a method by its name."""

from tent.method import Method
from tent.methods.bn import BN
from tent.methods.pl import PL
from tent.methods.source import Source
from tent.methods.tent import Tent
from tent.methods.ttt import TTT

METHODS: dict[str, type[Method]] = {"source": Source, "bn": BN, "pl": PL, "tent": Tent, "ttt": TTT}

__all__ = ["BN", "METHODS", "PL", "TTT", "Source", "Tent"]
