"""The lean path: the same numbers with less kept for the backward pass, in memory that is used again."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tent.lean import frozen, layer_norm, pointwise, pooling
from tent.lean.buffers import Buffers

# a torch function -> ours, which takes the buffers first, and answers NotImplemented where torch's own is to be used
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    F.relu: pointwise.relu,
    torch.relu: pointwise.relu,
    Tensor.relu: pointwise.relu,
    torch.relu_: partial(pointwise.relu, inplace=True),
    Tensor.relu_: partial(pointwise.relu, inplace=True),
    F.relu6: pointwise.relu6,
    F.silu: pointwise.silu,
    F.hardswish: pointwise.hardswish,
    F.gelu: pointwise.gelu,
    F.linear: frozen.linear,
    F.layer_norm: layer_norm.layer_norm,
    torch.conv1d: frozen.convolution(1),
    torch.conv2d: frozen.convolution(2),
    torch.conv3d: frozen.convolution(3),
    F.avg_pool2d: pooling.average,
    F.max_pool2d: pooling.maximum,
    torch.max_pool2d: pooling.maximum,
}

__all__ = ["FUNCTIONS", "Buffers"]
