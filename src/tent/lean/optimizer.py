"""Optimizers that move all parameters in one call."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

FUSED = (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD)


def fused(make: Any) -> Any:
    """Return the same optimizer in its fused form, where torch has one and the caller did not choose."""
    kind, chosen = make, set[str]()
    while isinstance(kind, partial):
        chosen |= kind.keywords.keys()
        kind = kind.func
    if kind not in FUSED or chosen & {"fused", "foreach", "capturable", "differentiable"}:
        return make

    return partial(_made, make)


def _made(make: Any, params: Sequence[Tensor]) -> Optimizer:
    whole = all(p.dtype in (torch.float32, torch.float64) and p.device.type in ("cpu", "cuda") for p in params)
    return make(params, fused=True) if whole else make(params)  # type: ignore[no-any-return]
