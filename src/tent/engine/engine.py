"""A batch's way: see it, take the method's step, answer; a bad batch is answered and never learnt from."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch.optim import Optimizer

from tent.engine import distributed
from tent.engine.execution import Execution
from tent.engine.mode import Moments
from tent.engine.source_model import SourceModel
from tent.engine.state import ForwardPass, NotFiniteError, ScaledTooFarError, State
from tent.engine.structures import Inputs, Picker, all_finite, is_empty
from tent.method import Answers, Method, OptimizerFactory
from tent.norm import Stats


@dataclass
class Engine:
    """An adaptation's choices, and its state: a run and the optimizer of it."""

    source: SourceModel
    method: Method
    names: Sequence[str]  # what moves
    stats: Stats
    make_optimizer: OptimizerFactory
    steps: int = 1
    pick: Picker | None = None
    execution: Execution = field(default_factory=Execution)
    updates: int = 0  # batches that were learnt from
    skipped: int = 0  # batches that were answered and not learnt from
    state: State = field(init=False)
    optimizer: Optimizer | None = field(init=False)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Go back to the source, which was never written to: its parameters are taken over afresh."""
        self.state, self.optimizer = self.fresh()

    def fresh(self) -> tuple[State, Optimizer | None]:
        """Return the state that every adaptation of this kind begins with."""
        params = {}
        with torch.inference_mode(False), torch.no_grad():
            for name in self.names:
                own = self.source.parameter(name)
                # float32 at least: bfloat16 would round a step of 1e-3 away
                dtype = torch.promote_types(own.dtype, torch.float32)
                params[name] = own.detach().to(dtype, copy=True).requires_grad_()
            state = State(params, group=next(iter(self.source.groups.values()), None), scale=self.execution.scale)
            optimizer = self.make_optimizer(list(params.values())) if params else None
            self.method.start(self.source.model, params, state)
        return state, optimizer

    def forward(self, batch: Inputs, grad: bool = False, observe: bool = False) -> ForwardPass:
        """State one pass at the parameters and statistics of now; observed, it tells every layer's moments."""
        with torch.set_grad_enabled(grad):
            output, forward = self.source.run(
                batch, self.state.params, self.stats, self.state.moments, observe, self.execution
            )
        self.state.forward = forward if grad else None
        return ForwardPass(batch, output, forward.features, self.pick, forward.moments)

    def adapt(self, batch: Inputs, answers: Answers = "before", wanted: bool = True) -> ForwardPass:
        """Learn from a batch; return a pass on it before or after that, of which no more is made than is wanted."""
        problem = "it is empty" if is_empty(batch) else None if all_finite(batch) else "it holds NaN or Inf"
        if self.state.group is not None and not distributed.agreed(problem is None, self.state.group):
            problem = problem or "another rank's batch is bad"
        if problem:
            return self._passed_over(batch, problem)
        self.state.see = partial(self.forward, grad=True)
        self.state.again = partial(self.state.see, batch)
        try:
            if self.optimizer is None:
                return self._normalised(batch)
            # what is remembered is of the batch itself, so a step that learns from no pass on it needs one all the same
            wanted = wanted or (self.stats.remembers and not self.method.own_pass)
            return self._updated(batch, answers if wanted else None, self.optimizer)
        except NotFiniteError as error:
            return self._passed_over(batch, str(error))
        finally:
            self.state.again = self.state.see = self.state.forward = None  # they hold the graph

    def _updated(self, batch: Inputs, answers: Answers | None, optimizer: Optimizer) -> ForwardPass:
        # a single plain step moves last of all, when nothing can fail any more
        late = self.steps > 1 or answers == "after" or type(self.method).step is not Method.step
        restore, before = self.state.kept(optimizer) if late else None, self.state.updates
        try:
            for left in reversed(range(self.steps)):
                seen = self._stepped(batch, optimizer, answers == "before" and not left)
            if answers == "after":
                seen = self.forward(batch)
                if not self.method.own_pass:
                    self.state.moments = self._remembered(seen)
        except BaseException:
            if restore:
                restore()
            raise
        self.updates += self.state.updates > before
        return seen

    def _stepped(self, batch: Inputs, optimizer: Optimizer, answers: bool) -> ForwardPass:
        while True:
            own = self.method.own_pass
            seen = self.forward(batch, grad=own) if own or answers else ForwardPass(batch, None)
            moments = self._remembered(seen)
            try:
                with torch.enable_grad():
                    self.method.step(seen, self.state, optimizer)
            except ScaledTooFarError:
                continue  # at a smaller scale, which has an end
            self.state.moments = moments
            return seen

    def _normalised(self, batch: Inputs) -> ForwardPass:
        seen = self.forward(batch)
        self.state.moments = self._remembered(seen)
        return seen

    def _remembered(self, seen: ForwardPass) -> dict[str, Moments]:
        found = seen.moments if self.stats.remembers else {}
        if not all(bool(m.mean.isfinite().all() and m.var.isfinite().all()) for m in found.values()):
            raise NotFiniteError("its statistics are not finite")
        return {**self.state.moments, **found}

    def _passed_over(self, batch: Inputs, problem: str) -> ForwardPass:
        self.skipped += 1
        warnings.warn(f"tent: a batch was answered and not learnt from: {problem}", RuntimeWarning, stacklevel=2)
        return self.forward(batch)
