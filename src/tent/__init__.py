"""Test-time adaptation for any PyTorch model; the model that is handed in is never written to."""

from tent import losses, norm, select
from tent.adapted import Adapted, adapt
from tent.augment import Pixels
from tent.delta import Delta
from tent.doctor import doctor
from tent.environment import keep_memory
from tent.method import ForwardPass, Method, State
from tent.methods import BN, CMF, MEMO, METHODS, PL, ROID, TTT, CoTTA, RoTTA, Source, Tent

__version__ = "0.2.0"

__all__ = [
    "BN",
    "CMF",
    "MEMO",
    "METHODS",
    "PL",
    "ROID",
    "TTT",
    "Adapted",
    "CoTTA",
    "Delta",
    "ForwardPass",
    "Method",
    "Pixels",
    "RoTTA",
    "Source",
    "State",
    "Tent",
    "adapt",
    "doctor",
    "keep_memory",
    "losses",
    "norm",
    "select",
]
