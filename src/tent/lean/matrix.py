"""Products with a frozen matrix, by whichever of torch's libraries is faster at that size."""

from math import prod
from typing import Any

import torch
from torch import Tensor

from tent.lean.buffers import Buffers

MAPPED = 32 << 20  # bytes from which on glibc gives every block back at once, however often it is asked for


def onednn() -> Any:
    """Return oneDNN's linear function, which torch's compiler uses, or None where torch was built without it."""
    return getattr(torch.ops.mkldnn, "_linear_pointwise", None) if torch.backends.mkldnn.is_available() else None  # type: ignore[no-untyped-call]


def product(x: Tensor, weight: Tensor, bias: Tensor | None, buffers: Buffers) -> Tensor:
    """Return x @ weight.T + bias, over the last axis of x and in its type."""
    weight, bias = weight.to(x.dtype), None if bias is None else bias.to(x.dtype)
    shape = (*x.shape[:-1], len(weight))
    small = prod(shape) * x.element_size() < MAPPED
    if small and x.numel() and x.device.type == "cpu" and x.dtype == torch.float32 and (linear := onednn()):
        # faster than the library behind torch.mm on CPUs that are not that library's maker's, and not slower on those
        return linear(x, weight, bias, "none", [], "")  # type: ignore[no-any-return]
    out = buffers.take(shape, x)
    rows, x = out.view(-1, len(weight)), x.reshape(-1, x.shape[-1])
    if bias is None:
        torch.mm(x, weight.t(), out=rows)
    else:
        torch.addmm(bias, x, weight.t(), out=rows)
    return out
