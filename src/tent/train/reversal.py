"""Gradient reversal (Ganin & Lempitsky, 2015): nothing on the way forward, the opposite direction on the way back."""

import math
from typing import Any

import torch
from torch import Tensor


class Reversal(torch.autograd.Function):
    """The identity, whose gradient is turned around and weighted."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: float) -> Tensor:
        """Pass x on as it is."""
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Turn the gradient around."""
        return -ctx.weight * gradients[0], None


def reversed_gradient(x: Tensor, weight: float) -> Tensor:
    """Return x, of which whatever comes after learns the opposite, `weight` times."""
    out: Tensor = Reversal.apply(x, weight)
    return out


def reversal_weight(progress: float) -> float:
    """The weight after a share of the run: 0 at first, near 1 from half way on (Ganin & Lempitsky, section 3)."""
    return 2 / (1 + math.exp(-10 * progress)) - 1
