"""Networks that answer with a class for each pixel."""

from collections.abc import Callable
from functools import partial

from tent.models.segmenters.hrnet import PLANS, HRNet

SEGMENTERS: dict[str, Callable[..., HRNet]] = {name: partial(HRNet, plan) for name, plan in PLANS.items()}

__all__ = ["SEGMENTERS", "HRNet"]
