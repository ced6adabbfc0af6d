"""The lean path: the same numbers up to rounding, with less kept for the backward pass, in memory that is reused."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tent.lean import frozen, group_norm, layer_norm, pointwise, pooling
from tent.lean.buffers import Buffers
from tent.lean.frozen import costly_weights
from tent.lean.layout import has_convolutions

# a torch function -> ours, which takes the buffers first, and answers NotImplemented where torch's own is to be used
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    F.relu: pointwise.relu,
    torch.relu: pointwise.relu,
    Tensor.relu: pointwise.relu,
    torch.relu_: partial(pointwise.relu, inplace=True),
    Tensor.relu_: partial(pointwise.relu, inplace=True),
    F.relu6: pointwise.relu6,
    F.hardtanh: pointwise.hardtanh,
    F.silu: pointwise.silu,
    F.hardswish: pointwise.hardswish,
    F.gelu: pointwise.gelu,
    F.linear: frozen.linear,
    F.layer_norm: layer_norm.layer_norm,
    F.group_norm: group_norm.group_norm,
    torch.group_norm: group_norm.group_norm,
    torch.conv1d: frozen.convolution(1),
    torch.conv2d: frozen.convolution(2),
    torch.conv3d: frozen.convolution(3),
    F.avg_pool2d: pooling.avg_pool2d,
    F.max_pool2d: pooling.max_pool2d,
    torch.max_pool2d: pooling.max_pool2d,
}

__all__ = ["FUNCTIONS", "Buffers", "costly_weights", "has_convolutions"]
