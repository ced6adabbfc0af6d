"""The list of what is held to the contract: every method as it comes, and the axes turned."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from own_methods import Memory, Sharpness, Teacher, Temperature
from torch import nn
from toys import NETS, TWO_HEADED, batches

import tent
from tent import Adapted, norm, select


@dataclass(frozen=True)
class Setting:
    """A method and the choices it is run with."""

    name: str
    method: tent.Method
    options: dict[str, Any] = field(default_factory=dict)
    moves: bool = True  # whether parameters of the model are expected to move
    learns: bool = True  # whether batches are updated on
    replaces: bool = False  # whether it puts logits of its own into the model's output
    still: bool = False  # whether the answers are the plain model's
    nets: tuple[str, ...] = tuple(NETS)  # those that the method is for

    def adapt(self, model: nn.Module, **more: Any) -> Adapted:
        adapted = tent.adapt(model, self.method, **{**self.options, **more})
        return adapted.prepare(batches(2, seed=3)) if "source data" in self.method.needs else adapted


FEW = ("conv", "residual", "layer-norm-two-heads")  # batch norm, a dict of maps, no batch statistics
ROTATION_NETS = tuple(TWO_HEADED)  # TTT is refused by a net that has no rotation head

PIXELS = tent.Pixels(0.4, 0.1)  # the batches of toys.py reach from -6 to 7

# every kind of net for what differs in kind, one or two for a variation of it, so that all of it takes minutes
# one entry a method is the least: a method of METHODS that is missing here fails a test of test_methods.py
SETTINGS = [
    Setting("source", tent.Source(), moves=False, learns=False, still=True),
    Setting("bn", tent.BN(), moves=False, learns=False),
    Setting("pl", tent.PL(threshold=0.3)),
    Setting("tent", tent.Tent()),
    Setting("bn-prior", tent.BN(), {"stats": norm.Prior(8)}, moves=False, learns=False, nets=("conv",)),
    Setting("bn-running", tent.BN(), {"stats": norm.Running(0.3)}, moves=False, learns=False, nets=("mixed",)),
    Setting("tent-running", tent.Tent(), {"stats": norm.Running(0.3), "lr": 0.01}),
    Setting("tent-blend", tent.Tent(), {"stats": norm.Blend(0.7)}, nets=("residual",)),
    Setting("tent-source-statistics", tent.Tent(), {"stats": norm.Source()}, nets=("mixed",)),
    Setting("tent-everything", tent.Tent(), {"select": select.everything}, nets=("mixed",)),
    Setting("tent-last-layer", tent.Tent(), {"select": select.last_layer}, nets=("residual",)),
    Setting("tent-sgd", tent.Tent(), {"optimizer": partial(torch.optim.SGD, momentum=0.9), "lr": 0.1}, nets=("conv",)),
    Setting("tent-steps-after", tent.Tent(), {"steps": 3, "answers": "after"}, nets=("conv", "residual")),
    Setting("tent-information", tent.Tent(objective=tent.losses.information_maximisation), nets=("residual",)),
    Setting("ttt", tent.TTT(), nets=ROTATION_NETS),
    Setting("ttt-copies", tent.TTT(copies=3, mirror=True), {"steps": 2}, nets=("batch-norm-two-heads",)),
    Setting("ttt-before", tent.TTT(), {"answers": "before", "lr": 0.01}, nets=("group-norm-two-heads",)),
    Setting("ttt-running", tent.TTT(), {"stats": norm.Running(0.3)}, nets=("maps-two-heads",)),
    Setting("ttt-adam", tent.TTT(), {"optimizer": torch.optim.Adam, "lr": 0.01}, nets=("layer-norm-two-heads",)),
    Setting("ttt-everything", tent.TTT(), {"select": select.everything}, nets=("group-norm-two-heads",)),
    Setting("eta", tent.ETA(margin=0.95, redundancy=0.9995), nets=FEW),
    Setting("eata", tent.EATA(margin=0.95, redundancy=0.9995, alpha=50.0), nets=("conv", "layer-norm-two-heads")),
    Setting("rdumb", tent.RDumb(margin=0.95, redundancy=0.9995, every=3), {"lr": 0.01}, nets=("residual",)),
    Setting("sar", tent.SAR(margin=0.95), nets=FEW),
    Setting("sar-recovery", tent.SAR(margin=0.95, recovery=1.15, momentum=0.5), {"lr": 0.1}, nets=("residual",)),
    Setting("deyo", tent.DeYO(margin=1.1, threshold=-0.1), nets=("conv", "named")),
    Setting("shot", tent.SHOT(), nets=("conv", "residual")),
    Setting("shot-features", tent.SHOT.for_features(), nets=("named",)),
    Setting(
        "lame",
        tent.LAME(neighbours=3),
        moves=False,
        learns=False,
        replaces=True,
        nets=("named", "layer-norm-two-heads"),
    ),
    Setting("t3a", tent.T3A(most=3), moves=False, replaces=True, nets=("conv", "residual")),
    Setting("cmf", tent.CMF(pixels=PIXELS), replaces=True, nets=("conv",)),  # the rest is ROID's
    Setting(
        "cotta", tent.CoTTA(views=2, threshold=1, restore=0.1, pixels=PIXELS), replaces=True, nets=("conv", "named")
    ),
    Setting("cotta-sure", tent.CoTTA.for_imagenet(threshold=0), nets=("residual",)),
    Setting("memo", tent.MEMO(views=2, pixels=PIXELS), nets=("named", "group-norm-two-heads")),
    Setting("roid", tent.ROID(pixels=PIXELS), replaces=True, nets=("named", "group-norm-two-heads")),
    Setting(
        "rotta", tent.RoTTA(capacity=7, every=5, pixels=PIXELS), {"lr": 0.01}, nets=("conv", "group-norm-two-heads")
    ),
    Setting("own-teacher", Teacher(), {"lr": 0.01}, nets=("conv", "residual")),
    Setting("own-teacher-after", Teacher(), {"lr": 0.01, "answers": "after", "steps": 2}, nets=("mixed",)),
    Setting("own-memory", Memory(), moves=False, replaces=True, nets=("conv", "residual")),
    Setting("own-sharpness", Sharpness(), {"lr": 0.01}, nets=("conv", "mixed")),
    Setting("own-temperature", Temperature(), {"lr": 0.01}, moves=False, replaces=True, nets=("conv", "residual")),
]
