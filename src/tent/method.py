"""What one paper adds: a default on each axis and, where it must, a rule of its own."""

import math
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import partial
from types import FunctionType
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.optim import Optimizer

from tent import norm
from tent.engine.engine import Answers
from tent.engine.forward_pass import ForwardPass
from tent.engine.state import State
from tent.select import Select, nothing

OptimizerFactory: TypeAlias = Callable[..., Optimizer]

__all__ = ["Answers", "ForwardPass", "Method", "OptimizerFactory", "State", "require_within"]


def require_within(method: "Method", least: float, most: float, *options: str) -> None:
    """Refuse options of a method outside a range."""
    for name in options:
        if not least <= (value := getattr(method, name)) <= most:
            bounds = f"{least:g} or more" if most == math.inf else f"in [{least:g}, {most:g}]"
            raise ValueError(f"{type(method).__name__} {name} must be {bounds}, got {value!r}")


def require_whole(method: "Method", *options: str, least: int = 1) -> None:
    """Refuse options of a method that are no whole numbers from `least` on."""
    for name in options:
        if not (isinstance(value := getattr(method, name), int) and value >= least):
            raise ValueError(f"{type(method).__name__} {name} must be a whole number from {least} on, got {value!r}")


class Method:
    """A method of adaptation; as it stands, nothing adapts.

    Methods hold options only and are shared freely: what an adaptation remembers is in its State.
    """

    select: Select = staticmethod(nothing)
    stats: norm.Stats = norm.Source()
    optimizer: OptimizerFactory = staticmethod(partial(torch.optim.Adam, lr=1e-3))  # the Tent paper's CIFAR setting
    answers: Answers = "before"
    needs: frozenset[str] = frozenset()  # what it wants beyond test inputs, such as "source data"
    uses_pass: bool = True  # whether a step looks at the pass on the batch; if not, none is made to learn from

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("select", "optimizer"):  # functions that are chosen, not methods to be bound
            value = cls.__dict__.get(name)
            defined_here = isinstance(value, FunctionType) and value.__qualname__ == f"{cls.__qualname__}.{name}"
            if callable(value) and not isinstance(value, staticmethod | classmethod) and not defined_here:
                setattr(cls, name, staticmethod(value))

    def prepare(self, state: State, batches: Iterable[ForwardPass]) -> None:
        """Look at source data once, before any test data; what is put into `state.tensors` survives resets."""

    def start(self, state: State) -> None:
        """Add to `state.params` and `state.tensors` at birth and at every reset, before the optimizer is made."""

    def loss(self, seen: ForwardPass, state: State) -> Tensor | None:
        """Return the scalar to minimise; None makes no update."""
        return None

    def step(self, seen: ForwardPass, state: State) -> None:
        """Make one update: loss, backward, optimizer step; by default nothing where nothing moves."""
        if not state.params:
            return
        loss = self.loss(seen, state)
        if loss is None and state.group is not None:
            loss = seen.logits.sum() * 0  # ranks update together, also when one of them has nothing to say
        if loss is not None:
            state.update(loss)

    def answer(self, seen: ForwardPass, state: State) -> Any:
        """Return what the caller gets, in the model's own type.

        It is called before the step for answers of before the update, and after it, with a pass of then, for others.
        """
        return seen.output

    def __repr__(self) -> str:
        hidden: list[str] = [each.name for each in fields(self) if not each.repr] if is_dataclass(self) else []
        shown = {name: value for name, value in vars(self).items() if name not in hidden}
        options = (f"{name}={getattr(value, '__name__', value)}" for name, value in shown.items())
        return f"{type(self).__name__}({', '.join(options)})"
