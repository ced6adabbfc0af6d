"""How tensors lie in memory: dense ones, and images with their channels last, which is what CPUs convolve fastest."""

from typing import Any

import torch
from torch import Tensor, nn

from tent.engine.structures import list_tensors, map_tensors
from tent.lean.buffers import Buffers


def dense(x: Tensor) -> bool:
    """Tell whether the tensor is one of torch's own, and its values fill one piece of memory."""
    if type(x) is not Tensor or x.layout != torch.strided:
        return False
    return x.is_contiguous() or (x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last))


def as_laid_out(x: Tensor, grad: Tensor, buffers: Buffers) -> Tensor:
    """Return a gradient in the memory format of what it is the gradient of."""
    return grad if grad.stride() == x.stride() else buffers.like(x).copy_(grad)


def convolves(model: nn.Module) -> bool:
    """Tell whether a model is one of those that run faster with channels last."""
    return any(isinstance(module, nn.Conv2d) for module in model.modules())


def channels_last(value: Any) -> Any:
    """Return the same values with the channels of images last in memory."""
    return map_tensors(value, lambda x: x.contiguous(memory_format=torch.channels_last) if _images(x) else x)


def is_channels_last(value: Any) -> bool:
    """Tell whether images were given with their channels last."""
    images = [x for x in list_tensors(value) if _images(x)]
    return any(x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous() for x in images)


def as_usual(value: Any) -> Any:
    """Return the same values as torch lays them out by itself, so that a caller may view them in any shape."""
    return map_tensors(value, lambda x: x.contiguous() if _images(x) else x)


def _images(x: Tensor) -> bool:
    return x.dim() == 4 and x.is_floating_point() and x.layout == torch.strided
