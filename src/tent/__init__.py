"""Test-time adaptation for any PyTorch model; the model that is handed in is never written to."""

from tent import losses, norm, select
from tent.adapted import Adapted, adapt
from tent.delta import Delta
from tent.doctor import doctor
from tent.environment import keep_memory
from tent.method import ForwardPass, Method, State
from tent.methods import (
    BN,
    EATA,
    ETA,
    LAME,
    METHODS,
    PL,
    SAR,
    SHOT,
    T3A,
    TTT,
    DeYO,
    RDumb,
    Source,
    Tent,
)

__version__ = "0.2.0"

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
    "Adapted",
    "DeYO",
    "Delta",
    "ForwardPass",
    "Method",
    "RDumb",
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
