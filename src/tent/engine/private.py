"""What torch may move between versions: private names of its own, and the lean path, which is made of them."""

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from tent.lean import FUNCTIONS, Buffers, costly_weights, has_convolutions
    from tent.lean.batch_norm import batch_norm, fixed

    LEAN_ERROR: Exception | None = None
else:
    try:
        from tent.lean import FUNCTIONS, Buffers, costly_weights, has_convolutions
        from tent.lean.batch_norm import batch_norm, fixed

        LEAN_ERROR = None
    except (ImportError, AttributeError, RuntimeError, TypeError) as error:
        FUNCTIONS, Buffers, LEAN_ERROR = {}, type("Buffers", (), {}), error
        batch_norm = costly_weights = fixed = has_convolutions = None

__all__ = ["FUNCTIONS", "Buffers", "batch_norm", "costly_weights", "fixed", "has_convolutions"]


@cache
def warn_without_lean() -> None:
    """Say, once, that the lean path is not to be had with this torch."""
    warnings.warn(
        f"tent: torch {torch.__version__} lacks what the lean path is made of ({LEAN_ERROR}); "
        "models are adapted as with lean=False: the same numbers, in more time and memory",
        RuntimeWarning,
        stacklevel=3,
    )


def run_backward(loss: Tensor, params: Sequence[Tensor]) -> None:
    """Leave the loss's gradients at the parameters, with the mode that is on staying on.

    A checkpointed block runs once more inside the backward pass, and must find the mode that it found the first time.
    But torch.autograd.backward is itself a torch function, inside which a mode is off: hence the call behind it or,
    where torch has that no more, edges of the graph in place of tensors, which modes do not see.
    """
    run, seed = getattr(torch.autograd.graph, "_engine_run_backward", None), torch.ones_like(loss)
    if run is not None:
        run((loss,), (seed,), False, False, tuple(params), allow_unreachable=True, accumulate_grad=True)
        return
    edge = torch.autograd.graph.get_gradient_edge
    torch.autograd.backward([edge(loss)], [seed], inputs=[edge(param) for param in params])


def divide_all(tensors: Sequence[Tensor], by: float) -> None:
    """Divide every tensor in place."""
    divide = getattr(torch, "_foreach_div_", None)
    if divide is not None:
        divide(list(tensors), by)
        return
    for tensor in tensors:
        tensor.div_(by)


def norms(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the Euclidean norm of every tensor."""
    norm = getattr(torch, "_foreach_norm", None)
    return list(norm(list(tensors))) if norm is not None else [torch.linalg.vector_norm(each) for each in tensors]


def exported_operation(name: str) -> Callable[..., Any] | None:
    """Return the operation that an exported program calls by this name, or None where torch has it no more."""
    return getattr(getattr(torch.ops.aten, name, None), "default", None)
