"""Equilibria: the z that a function returns as it is, and its gradient by the implicit function theorem."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from tent.models.libraries import import_library

Function = Callable[[Tensor], Tensor]
# What torchdeq's Anderson adds to squared residuals, 1e-4, is nothing beside those of a vector this long; beside the
# gradient of a mean entropy, whose length is some 2e-4 an image, it would be everything.
BACKWARD_LENGTH = 100.0


@dataclass(frozen=True)
class Solver:
    """How an equilibrium is looked for, and when it is found.

    Args:
        name: `broyden` or `anderson`, of torchdeq. Broyden keeps two copies of z a step, Anderson twelve in all.
        tolerance: the residual |f(z) - z| / |f(z)| of every image that ends the search.
        steps: at which the search is ended in any case; the z with the smallest residual is taken then.
    """

    name: str = "anderson"
    tolerance: float = 1e-4
    steps: int = 30

    def __post_init__(self) -> None:
        if self.name not in ("broyden", "anderson"):
            raise ValueError(f"no solver {self.name!r}; there are broyden, anderson")

    def solve(self, function: Function, start: Tensor) -> tuple[Tensor, Tensor]:
        """Return the nearest to an equilibrium that the steps allow, without a gradient, and the residuals."""
        if not len(start):  # (n, values), (n,)
            return start, start.new_zeros(0)
        find: Any = import_library("torchdeq.solver", "mdeq").get_solver(self.name)
        # under autocast torchdeq's own products would be coarser than the tolerance
        with torch.no_grad(), torch.autocast(start.device.type, enabled=False):
            found, _, seen = find(function, start, max_iter=self.steps, tol=self.tolerance, stop_mode="rel")
        return found, seen["rel_lowest"]


def equilibrium(
    function: Function,
    start: Tensor,
    forward: Solver,
    backward: Solver | None,
    tell: Callable[[Tensor], None] | None = None,
) -> Tensor:
    """Return z = function(z), with its implicit gradient if there is a backward solver, in train and in eval mode.

    The function is run once more at the equilibrium, and the gradient that reaches it there is replaced by the
    solution y of y = yJ + gradient. The backward search goes through the graph of that one run, so it sees the very
    tensors that the run was given, whatever was put in the place of a model's own parameters. What it solves is linear
    in the gradient, so each image's is made as long as suits the solver, and its answer as short again.
    Without a backward solver the gradient is that of the one run alone, as if the equilibrium did not depend on the
    parameters before it: good enough to train by, and without a second search (Fung et al., 2022).
    `tell` is called with the residual of every image that the forward search ended with.
    """
    found, seen = forward.solve(function, start)
    if tell is not None:
        tell(seen)
    if backward is None or not torch.is_grad_enabled():
        return function(found)
    point = found.detach().requires_grad_()
    value = function(point)

    def solve_backward(gradient: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
        times = torch.where(length > 0, length / BACKWARD_LENGTH, 1.0)
        scaled = gradient / times

        def step(y: Tensor) -> Tensor:
            return torch.autograd.grad(value, point, y, retain_graph=True)[0] + scaled

        return backward.solve(step, torch.zeros_like(scaled))[0] * times

    answer = value.view_as(value)  # a tensor of its own: a hook on `value` would be called by the search inside it
    answer.register_hook(solve_backward)  # type: ignore[no-untyped-call]
    return answer


def jacobian_size(function: Function, z: Tensor) -> Tensor:
    """Return an estimate of |J|² over the number of values, of a function's Jacobian at z, with its own gradient.

    The smaller it is, the sooner a search for the equilibrium ends (Bai et al., 2021).
    """
    point = z.detach().requires_grad_()
    value = function(point)
    draw = torch.randn_like(value)
    pulled = torch.autograd.grad(value, point, draw, create_graph=True)[0]
    return pulled.square().sum() / draw.numel()


def residual(function: Function, z: Tensor) -> Tensor:
    """Return |f(z) - z| / |f(z)| of every image."""  # (n,)
    size = partial(torch.linalg.vector_norm, dim=1)
    with torch.no_grad():
        value = function(z)
        share: Tensor = size(value - z) / size(value).clamp_min(1e-9)
    return share
