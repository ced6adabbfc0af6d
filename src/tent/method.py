"""What one paper adds: a default on each axis and, where it must, a rule of its own."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from tent import norm
from tent.engine.state import ForwardPass, State
from tent.select import Select, nothing

OptimizerFactory: TypeAlias = Callable[..., Optimizer]
Answers: TypeAlias = Literal["before", "after"]  # the update

__all__ = ["Answers", "ForwardPass", "Method", "OptimizerFactory", "State"]


class Method:
    """A method of adaptation; as it stands, nothing adapts.

    Methods hold options only and are shared freely: what an adaptation remembers is in its State.
    """

    select: Select = staticmethod(nothing)
    stats: norm.Stats = norm.Source()
    optimizer: OptimizerFactory = partial(torch.optim.Adam, lr=1e-3)  # the Tent paper's CIFAR setting
    answers: Answers = "before"
    own_pass: bool = True  # whether a step learns from a pass on the batch itself; if not, by run.look from others

    def start(self, model: nn.Module, params: dict[str, Tensor], run: State) -> None:
        """Prepare the run's memory, at birth and at every reset."""

    def loss(self, seen: ForwardPass, run: State) -> Tensor | None:
        """Return the scalar to minimise; None makes no update."""
        return None

    def step(self, seen: ForwardPass, run: State, optimizer: Optimizer) -> None:
        """Make one update: backward, step, zero."""
        loss = self.loss(seen, run)
        if loss is None and run.group is not None:
            loss = seen.logits.sum() * 0  # ranks update together, also when one of them has nothing to say
        if loss is not None:
            run.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

    def answer(self, seen: ForwardPass) -> Any:
        """Return what the caller gets, in the model's own type."""
        return seen.output

    def __repr__(self) -> str:
        options = (f"{name}={getattr(value, '__name__', value)}" for name, value in vars(self).items())
        return f"{type(self).__name__}({', '.join(options)})"
