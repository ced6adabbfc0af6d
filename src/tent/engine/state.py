"""State: what one adaptation holds beside its source model; it is run, moved, put back and reset here."""

import math
import zlib
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from tent.engine import distributed
from tent.engine.forward_pass import ForwardPass
from tent.engine.mode import Mode, Moments, PassContext
from tent.engine.private import divide_all, norms, run_backward
from tent.engine.setup import Counts, Setup, copy_optimizer, restore_optimizer
from tent.engine.source_model import SourceTensors, eval_mode
from tent.engine.structures import Inputs, count_samples, detach_output
from tent.norm import Stats


class NotFiniteError(ArithmeticError):
    """A loss or gradient is not finite, so nothing may move."""


class ScaledTooFarError(ArithmeticError):
    """A scaled gradient is not finite; the scale is smaller now, and the pass is to be made again."""


@dataclass
class State:
    """What an adaptation holds beside its source model; a reset replaces all of it but the counts."""

    setup: Setup
    params: dict[str, Tensor] = field(default_factory=dict)  # what moves, by name
    tensors: dict[str, Tensor] = field(default_factory=dict)  # a method's memory; replaced, never written in place
    moments: dict[str, Moments] = field(default_factory=dict)  # statistics that are remembered, by layer
    optimizer: Optimizer | None = None  # None where nothing moves
    loss: float | None = None  # of the last update
    step: int = 0  # of the method, since the last reset
    scale: float = 1.0  # of the loss in the backward pass, for a precision in which small gradients vanish
    counts: Counts = field(default_factory=Counts)
    gradients: int = 0  # backward passes that were good, since the last reset
    moving: bool = False  # whether the optimizer's step has begun and not ended
    _graphs: list[tuple[int, PassContext]] = field(default_factory=list, repr=False)  # passes to go back through

    @staticmethod
    def begin(setup: Setup, counts: Counts | None = None) -> "State":
        """Return the state that every adaptation of this kind begins with."""
        state = State(setup, counts=counts or Counts(), scale=setup.execution.scale)
        with torch.inference_mode(False), torch.no_grad():
            for name in setup.names:
                own = setup.source.parameter(name)
                # float32 at least: bfloat16 would round a step of 1e-3 away
                dtype = torch.promote_types(own.dtype, torch.float32)
                state.params[name] = own.detach().to(dtype, copy=True)
            state.tensors.update(setup.prepared or {})
            ours = dict(state.params)
            setup.method.start(state)
            for name, param in state.params.items():  # what a method adds may be the source's own, and will move
                own_copy = param if param is ours.get(name) else param.detach().clone()
                state.params[name] = own_copy.requires_grad_()
            state.optimizer = setup.make_optimizer(state.params) if state.params else None
        return state

    @property
    def model(self) -> nn.Module:
        """The source model itself; it is to be looked at, and never written to."""
        return self.setup.source.model

    @property
    def source(self) -> Mapping[str, Tensor]:
        """The source's own parameters, by name, to be read."""
        return SourceTensors(self.setup.source)

    @property
    def group(self) -> Any:
        """The process group that updates in step; None where there is one process."""
        return next(iter(self.setup.source.groups.values()), None)

    def forward(
        self,
        *inputs: Any,
        params: Mapping[str, Tensor] | None = None,
        stats: Stats | None = None,
        moments: Mapping[str, Moments] | None = None,
        grad: bool = True,
        **kwargs: Any,
    ) -> ForwardPass:
        """Run the model on any inputs; what its batch norms see is not remembered.

        Args:
            params: tensors in the place of the parameters of these names: a teacher's, perturbed ones, `state.source`.
            stats: statistics in the place of the adaptation's own.
            moments: by layer, in the place of the source's means and variances and of those that are remembered.
            grad: whether a graph is kept to go back through.
        """
        seen = self.run((inputs, kwargs), params=params, stats=stats, moments=moments, grad=grad)
        with eval_mode(self.setup.source.modules):
            seen.output  # noqa: B018 (at the parameters of now, whatever moves next)
        return seen

    def run(
        self,
        inputs: Inputs,
        *,
        params: Mapping[str, Tensor] | None = None,
        stats: Stats | None = None,
        moments: Mapping[str, Moments] | None = None,
        grad: bool = False,
        observe: bool = False,
    ) -> ForwardPass:
        """Return a pass that is made when it is first looked at; observed, it tells every batch norm's moments."""
        setup = self.setup
        if params is not None:
            unknown = [name for name in params if name not in setup.source.places and name not in self.params]
            if unknown:
                raise ValueError(f"params: {type(self.model).__name__} has no parameter {unknown[0]!r}")

        def make() -> tuple[Any, PassContext]:
            with torch.set_grad_enabled(grad):
                output, context = setup.source.run(
                    inputs,
                    {**self.params, **(params or {})},
                    stats or setup.stats,
                    self.moments if moments is None else moments,
                    observe=observe,
                    execution=setup.execution,
                )
            samples = count_samples(inputs)
            self.counts.forwards += samples
            if grad:
                self._graphs.append((samples, context))
            return output, context

        return ForwardPass(inputs, make, setup.pick)

    def call(self, function: Callable[..., Any], inputs: Inputs) -> Any:
        """Call a part or method of the model at the parameters of now, by torch's own functions and without a graph."""
        execution = replace(self.setup.execution, buffers=None, images_last=False)
        with torch.no_grad():
            output, _ = self.setup.source.run(
                inputs, self.params, self.setup.stats, self.moments, execution=execution, call=function
            )
        return detach_output(output, self.params.values())

    def update(self, loss: Tensor) -> None:
        """Take one step of the optimizer down the loss, or raise before anything has moved."""
        self.backward(loss)
        if self.optimizer is not None:
            self.moving = True
            self.optimizer.step()
            self.moving = False
            self.optimizer.zero_grad()

    def backward(self, loss: Tensor) -> None:
        """Leave the loss's gradients at the parameters, or raise and leave none."""
        params = list(self.params.values())
        if loss.numel() != 1:
            raise ValueError(f"the loss has shape {tuple(loss.shape)}; return a scalar, such as loss.mean()")
        if not loss.requires_grad:
            raise ValueError("the loss does not depend on what adapts; does the model's forward turn gradients off?")
        try:
            with self._mode():
                run_backward(loss * self.scale if self.scale != 1.0 else loss, params)
            grads = [param.grad for param in params if param.grad is not None]
            if self.scale != 1.0 and grads:
                divide_all(grads, self.scale)
            sizes = [size.float() for size in norms(grads)]
            value, *lengths = torch.stack([loss.detach().float(), *sizes]).tolist()  # one wait for the device
            if not self._agree(all(map(math.isfinite, (value, *lengths)))):
                # ranks that raised differently would wait for each other: one makes its pass again, another does not
                if self.scale > 1.0 and self._agree(math.isfinite(value)):
                    self.scale /= 4
                    raise ScaledTooFarError(f"scaled down to {self.scale}")
                raise NotFiniteError("its loss or gradient is not finite")
            if self.group is not None:
                distributed.average(grads, self.group)
        except BaseException:
            self.clear_gradients()  # the next update must not add to them
            raise
        self.counts.backwards += sum(samples for samples, _ in self._graphs)
        self._graphs.clear()
        self.loss, self.gradients = value, self.gradients + 1

    def clear_gradients(self) -> None:
        """Drop gradients and graphs."""
        self._graphs.clear()
        for param in self.params.values():
            param.grad = None

    def generator(self, name: str | int, shared: bool = False) -> torch.Generator:
        """Return a generator of random numbers that are new in every step, and replayed after a reset.

        The same name gives the same draws within one step; a number serves as a seed.

        Args:
            shared: the same draws on every rank, for what must stay in step, such as parameters.
        """
        key = name if isinstance(name, int) else zlib.crc32(name.encode())
        seeds = np.random.SeedSequence((key, self.step, 0 if shared else distributed.rank(self.group)))
        return torch.Generator().manual_seed(int(seeds.generate_state(1)[0]))

    def reset(self) -> None:
        """Go back to the source, which was never written to; what was prepared and counted stays."""
        self.adopt(State.begin(self.setup, self.counts))
        self.counts.resets += 1

    def adopt(self, other: "State") -> None:
        """Become another state, all at once."""
        self.__dict__.update(other.__dict__)

    def snapshot(self, deep: bool = True) -> Callable[[], None]:
        """Return the function that puts everything back as it is now.

        Args:
            deep: also the values of parameters and optimizer, which move in place; tensors are replaced, so a
                reference is enough for them.
        """
        before = {**self.__dict__, "tensors": dict(self.tensors), "_graphs": []}
        values = {name: param.detach().clone() for name, param in self.params.items()} if deep else {}
        optimizer = copy_optimizer(self.optimizer) if deep and self.optimizer is not None else None

        def restore() -> None:
            self.__dict__.update({**before, "scale": self.scale})
            with torch.no_grad():
                for name, value in values.items():
                    self.params[name].copy_(value)
            if self.optimizer is not None and optimizer is not None:
                restore_optimizer(self.optimizer, *optimizer)
            self.clear_gradients()

        return restore

    @property
    def size(self) -> int:
        """The number of values that move."""
        return sum(param.numel() for param in self.params.values())

    def _mode(self) -> Any:
        # a checkpointed block runs once more inside backward, and must find the mode that it found the first time
        return Mode(replace(self._graphs[-1][1], moments={})) if self._graphs else nullcontext()

    def _agree(self, fine: bool) -> bool:
        return fine if self.group is None else distributed.agree(fine, self.group)
