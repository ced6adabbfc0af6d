"""Which tensors this room may handle, and how they lie in memory."""

import torch
from torch import Tensor, nn

from tent.lean.buffers import Buffers

try:
    from torch._C._functorch import maybe_current_level as transform_level
except ImportError:  # then a transform of torch.func that meets this room says so itself

    def transform_level() -> int | None:
        """Return how deep inside transforms such as torch.vmap we are, None outside."""
        return None


def is_plain(x: Tensor) -> bool:
    """Tell whether a tensor is one of torch's own, real, strided, and outside transforms such as torch.vmap."""
    ordinary = type(x) is Tensor and x.layout == torch.strided and x.is_floating_point() and not x.is_neg()
    return ordinary and transform_level() is None


def is_dense(x: Tensor) -> bool:
    """Tell whether such a tensor's values fill one piece of memory."""
    return is_plain(x) and (x.is_contiguous() or (x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)))


def match_layout(grad: Tensor, x: Tensor, buffers: Buffers) -> Tensor:
    """Return a gradient in the memory format of what it is the gradient of."""
    return grad if grad.stride() == x.stride() else buffers.like(x).copy_(grad)


def has_convolutions(model: nn.Module) -> bool:
    """Tell whether a model is one of those that run faster with channels last."""
    return any(isinstance(module, nn.Conv2d) for module in model.modules())
