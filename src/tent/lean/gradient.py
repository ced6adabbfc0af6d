"""How the backward passes of this room are run: once, and out of sight of the mode that the model is run under."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any

import torch

# without it a mode sees these functions too, which changes nothing but the time that they take
outside_modes = getattr(torch._C, "DisableTorchFunction", nullcontext)


def gradient(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward pass of an autograd function; it is given the context, what was saved, and the gradients."""

    @wraps(backward)
    def run(ctx: Any, *grads: Any) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("the lean path has no second derivatives; for those pass adapt(..., lean=False)")
        saved = ctx.saved_tensors  # in the mode's sight: for a checkpointed block, this is where it is run again
        with outside_modes():
            return backward(ctx, saved, *grads)

    return run
