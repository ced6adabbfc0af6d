"""Test-time adaptation for any PyTorch model; the model that is handed in is never written to."""

from tent import losses, norm, select
from tent.adapted import Adapted, adapt
from tent.artifacts.checkpoint import Checkpoint
from tent.artifacts.delta import Delta
from tent.augment import Pixels
from tent.doctor import doctor
from tent.environment import keep_memory
from tent.method import ForwardPass, Method, State
from tent.methods import (
    BN,
    CMF,
    EATA,
    ETA,
    LAME,
    MEMO,
    METHODS,
    PL,
    ROID,
    SAR,
    SHOT,
    T3A,
    TTT,
    CoTTA,
    DeYO,
    RDumb,
    RoTTA,
    Source,
    Tent,
)

__version__ = "0.2.0"

__all__ = [
    "BN",
    "CMF",
    "EATA",
    "ETA",
    "LAME",
    "MEMO",
    "METHODS",
    "PL",
    "ROID",
    "SAR",
    "SHOT",
    "T3A",
    "TTT",
    "Adapted",
    "Checkpoint",
    "CoTTA",
    "DeYO",
    "Delta",
    "ForwardPass",
    "Method",
    "Pixels",
    "RDumb",
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
