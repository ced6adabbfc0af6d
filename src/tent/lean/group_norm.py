"""A group norm that keeps away from a crash of torch before 2.14.1: channels last, and an input without gradient."""

from typing import Any

import torch
from torch import Tensor

CRASHES = tuple(int(part) for part in torch.__version__.partition("+")[0].split(".")[:3] if part.isdigit()) < (2, 14, 1)


def group_norm(
    buffers: Any,
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    """Normalise in the usual layout where the gradients of scale and shift alone are wanted, else leave it to torch."""
    if not CRASHES or input.dim() != 4 or input.is_contiguous() or input.requires_grad or not torch.is_grad_enabled():
        return NotImplemented
    y = torch.group_norm(input.contiguous(), num_groups, weight, bias, eps, cudnn_enabled)
    return y.contiguous(memory_format=torch.channels_last)
