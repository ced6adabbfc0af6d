"""What a training run is made of: the same recipe and data give the same weights."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from tent.data.sets.catalog import DIGITS, find_set
from tent.models import SEGMENTERS, is_library_network

Schedule = Callable[[int, int, float, float], float]


CPUINFO = Path("/proc/cpuinfo")
BFLOAT16_FLAGS = {"amx_bf16", "avx512_bf16", "bf16"}
OPTIMIZERS = ("sgd", "adamw")
LEFT_OUT = {"target": "", "optimizer": "sgd", "colors": False}  # values that a card does not name: most are older


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the numbers of a run, apart from the data, the objective and the machine."""

    model: str
    data: str
    epochs: float = 48  # may end inside a pass: 0.3
    seed: int = 0
    batch: int = 128
    lr: float = 0.15  # the peak
    optimizer: str = "sgd"
    momentum: float = 0.9  # of adamw, the share that its average of gradients keeps
    weight_decay: float = 5e-4  # on weights of two and more axes; norms and biases are left alone
    schedule: str = "one-cycle"
    rise: float = 0.2  # share of a one-cycle schedule that is spent on the way up
    hold: float = 0.0  # and the share that is spent at the peak
    crop: int = 4  # pixels of padding around a random crop; 0 for none
    flip: bool = True
    precision: str = "bfloat16"
    start: str = ""  # sha-256 of the weights that the run starts from, after the name of a library's; random without
    # side that every image is resized to before anything else; of segmentation, height and width of a random crop
    size: int | tuple[int, int] | None = None  # None: as stored
    scales: tuple[float, float] | None = None  # between which an image is resized before it is cropped
    colors: bool = False  # jittered, and half of the images as negatives; it resembles corruptions, so not for CIFAR
    target: str = ""  # the unlabelled images that are learnt from too, as in `Target`; none without
    mean: float | None = None  # of every channel; None: what it was trained with before, else the training set's own
    std: float | None = None  # deviation of every channel; None: as for the mean

    def __post_init__(self) -> None:
        if isinstance(self.epochs, float) and self.epochs.is_integer():
            object.__setattr__(self, "epochs", int(self.epochs))  # as a command and a card say it
        for name in ("size", "scales"):
            if isinstance(given := getattr(self, name), list):  # as a card has it
                object.__setattr__(self, name, tuple(given))
        for name in ("epochs", "batch", "lr"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")
        for name, end in (("seed", 2**63), ("momentum", 1), ("weight_decay", float("inf")), ("crop", 2**10)):
            if not 0 <= getattr(self, name) < end:
                raise ValueError(f"{name} must be at least 0 and below {end}, not {getattr(self, name)}")
        self._check_size()
        self._check_views()
        self._check_normalisation()
        if min(self.rise, self.hold) < 0 or not self.rise + self.hold < 1:
            raise ValueError(f"rise {self.rise} and hold {self.hold} must be 0 or more, and below 1 together")
        if self.schedule not in SCHEDULES:
            raise ValueError(f"no schedule {self.schedule!r}; there are {', '.join(SCHEDULES)}")
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"no optimizer {self.optimizer!r}; there are {', '.join(OPTIMIZERS)}")
        if self.precision not in ("bfloat16", "float32"):
            raise ValueError(f"precision must be bfloat16 or float32, not {self.precision!r}")

    def _check_size(self) -> None:
        crops = self.task == "segmentation"
        if crops and not (isinstance(self.size, tuple) and min(self.size) > 0):
            raise ValueError(f"size {self.size}: segmentation learns from crops; give HEIGHTxWIDTH, such as 192x288")
        if not crops and self.size is not None and (isinstance(self.size, tuple) or not 0 < self.size < 2**10):
            raise ValueError(
                f"size must be above 0 and below {2**10}, not {self.size}; leave it out to keep images' own"
            )

    def _check_views(self) -> None:
        crops = self.task == "segmentation"
        if self.colors and crops:
            raise ValueError(f"colors are for classification, which {self.model} is not for")
        if self.scales is None and not crops:
            return
        if not (self.scales and len(self.scales) == 2 and 0 < self.scales[0] <= self.scales[1] < float("inf")):
            raise ValueError(f"scales {self.scales}: give the least and the greatest, such as 0.5,1.25")

    def _check_normalisation(self) -> None:
        if self.mean is None and self.std is None:
            return
        if self.mean is None or self.std is None or not (0 <= self.mean <= 1 and 0 < self.std < float("inf")):
            raise ValueError(
                f"mean {self.mean}, std {self.std}: give a mean from 0 to 1 and a deviation above 0, or neither"
            )
        if self.task == "segmentation" or is_library_network(self.model):
            raise ValueError(f"mean {self.mean}, std {self.std}: {self.model} is normalised by ImageNet's or its own")

    @property
    def task(self) -> str:
        """What the network is for."""
        return "segmentation" if self.model in SEGMENTERS else "classification"

    @property
    def side(self) -> int | None:
        """The side that a classifier's images are resized to."""
        return self.size if isinstance(self.size, int) else None

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as a card carries it: every choice, and what is unusual of the rest."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in found.items()
            if value != LEFT_OUT.get(name)
        }

    def command(self, method: str = "source") -> str:
        """Return the command line that runs this recipe."""
        special = ("--flip" if self.flip else "--no-flip") + " --colors" * self.colors + self._start_option()
        options = {
            name.replace("_", "-"): value
            for name, value in self.to_dict().items()
            if name not in ("flip", "colors", "start")
        }
        for name, between in (("size", "x"), ("scales", ",")):
            if isinstance(given := options.get(name), list):
                options[name] = between.join(map(str, given))
        if method != "source":
            options = {"method": method, "source": options.pop("data"), **options}
        return f"tent train {' '.join(f'--{name} {value}' for name, value in options.items())} {special} --out FOLDER"

    def _start_option(self) -> str:
        if is_library_network(self.model):
            if not self.start:
                return " --start random"
            if self.start.startswith(f"{self.model} "):
                return ""  # its own weights
        return " --start FILE" if self.start else ""


def may_flip(data: str) -> bool:
    """Tell whether a set's images may be flipped from left to right: a mirrored digit is no digit."""
    found = find_set(data)
    return found is None or found.class_names != DIGITS


def best_precision(device: torch.device) -> str:
    """Return bfloat16 where the device multiplies in it, float32 elsewhere: torch emulates it there, and is slower."""
    if device.type == "cuda":
        fast = torch.cuda.get_device_capability(device) >= (8, 0)
    else:
        names = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")  # private: may be gone
        fast = any(getattr(torch.cpu, name, bool)() for name in names) or bool(_cpu_flags() & BFLOAT16_FLAGS)
    return "bfloat16" if fast else "float32"


def _cpu_flags() -> set[str]:
    try:
        lines = CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return {flag for line in lines if line.startswith(("flags", "Features")) for flag in line.split()}


def one_cycle(step: int, steps: int, rise: float, hold: float) -> float:
    """Up in a straight line, level for a while, then down to nothing in a straight line (Smith, 2018)."""
    up = round(rise * steps)  # whole steps: before the fall begins, a rate does not depend on how long the run is
    level = up + round(hold * steps)
    if step < up:
        return step / up
    return 1.0 if step < level else (steps - step) / (steps - level)


def cosine(step: int, steps: int, rise: float, hold: float) -> float:
    """From the peak to nothing along half a cosine (Loshchilov & Hutter, 2017)."""
    return 0.5 * (1 + math.cos(math.pi * step / steps))


SCHEDULES: dict[str, Schedule] = {"one-cycle": one_cycle, "cosine": cosine}
