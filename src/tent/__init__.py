"""Test-time adaptation for any PyTorch model; the model that is handed in is never written to."""

from tent import losses, norm, select
from tent.adapted import Adapted, adapt
from tent.artifacts.checkpoint import Checkpoint
from tent.artifacts.delta import Delta
from tent.doctor import doctor
from tent.environment import keep_memory
from tent.method import ForwardPass, Method, State
from tent.methods import BN, METHODS, PL, TTT, Source, Tent

__version__ = "0.2.0"

__all__ = [
    "BN",
    "METHODS",
    "PL",
    "TTT",
    "Adapted",
    "Checkpoint",
    "Delta",
    "ForwardPass",
    "Method",
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
