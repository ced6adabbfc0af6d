"""A batch's way: see it, take the method's step, answer; a bad batch is answered and never learnt from."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch.optim import Optimizer

from tent import ranks
from tent.lean.path import Path
from tent.method import Method, OptimizerFactory
from tent.mode import Moments
from tent.norm import Stats
from tent.outputs import Inputs, Picker, empty, finite
from tent.readonly import ReadOnly
from tent.run import NotFiniteError, Run, ScaledTooFarError, Seen


@dataclass
class Engine:
    """An adaptation's choices, and its state: a run and the optimizer of it."""

    readonly: ReadOnly
    method: Method
    names: Sequence[str]  # what moves
    stats: Stats
    make_optimizer: OptimizerFactory
    steps: int = 1
    pick: Picker | None = None
    path: Path = field(default_factory=Path)
    updates: int = 0  # batches that were learnt from
    skipped: int = 0  # batches that were answered and not learnt from
    run: Run = field(init=False)
    optimizer: Optimizer | None = field(init=False)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Go back to the source, which was never written to: its parameters are taken over afresh."""
        self.run, self.optimizer = self.fresh()

    def fresh(self) -> tuple[Run, Optimizer | None]:
        """Return the state that every adaptation of this kind begins with."""
        params = {}
        with torch.inference_mode(False), torch.no_grad():
            for name in self.names:
                own = self.readonly.parameter(name)
                # float32 at least: bfloat16 would round a step of 1e-3 away
                dtype = torch.promote_types(own.dtype, torch.float32)
                params[name] = own.detach().to(dtype, copy=True).requires_grad_()
            run = Run(params, group=next(iter(self.readonly.groups.values()), None), scale=self.path.scale)
            optimizer = self.make_optimizer(list(params.values())) if params else None
            self.method.start(self.readonly.model, params, run)
        return run, optimizer

    def see(self, batch: Inputs, grad: bool = False, observe: bool = False) -> Seen:
        """Run one pass at the parameters and statistics of now; observed, it tells every layer's moments."""
        with torch.set_grad_enabled(grad):
            output, forward = self.readonly.run(
                batch, self.run.params, self.stats, self.run.moments, observe, self.path
            )
        self.run.forward = forward if grad else None
        return Seen(batch, output, forward.features, self.pick, forward.moments)

    def adapt(self, batch: Inputs, after: bool = False) -> Seen:
        """Learn from a batch; return the pass that it was learnt from, or one more after it."""
        problem = "it is empty" if empty(batch) else None if finite(batch) else "it holds NaN or Inf"
        if self.run.group is not None and not ranks.agreed(problem is None, self.run.group):
            problem = problem or "another rank's batch is bad"
        if problem:
            return self._passed_over(batch, problem)
        self.run.again = lambda: self.see(batch, grad=True)
        try:
            return self._updated(batch, after, self.optimizer) if self.optimizer else self._normalised(batch)
        except NotFiniteError as error:
            return self._passed_over(batch, str(error))
        finally:
            self.run.again = self.run.forward = None  # they hold the graph

    def _updated(self, batch: Inputs, after: bool, optimizer: Optimizer) -> Seen:
        # a single plain step moves last of all, when nothing can fail any more
        late = self.steps > 1 or after or type(self.method).step is not Method.step
        restore, before = self.run.kept(optimizer) if late else None, self.run.updates
        try:
            for _ in range(self.steps):
                seen = self._stepped(batch, optimizer)
            if after:
                seen = self.see(batch)
        except BaseException:
            if restore:
                restore()
            raise
        self.updates += self.run.updates > before
        return seen

    def _stepped(self, batch: Inputs, optimizer: Optimizer) -> Seen:
        while True:
            seen = self.see(batch, grad=True)
            moments = self._remembered(seen)
            try:
                with torch.enable_grad():
                    self.method.step(seen, self.run, optimizer)
            except ScaledTooFarError:
                continue  # at a smaller scale, which has an end
            self.run.moments = moments
            return seen

    def _normalised(self, batch: Inputs) -> Seen:
        seen = self.see(batch)
        self.run.moments = self._remembered(seen)
        return seen

    def _remembered(self, seen: Seen) -> dict[str, Moments]:
        found = seen.moments if self.stats.remembers else {}
        if not all(bool(m.mean.isfinite().all() and m.var.isfinite().all()) for m in found.values()):
            raise NotFiniteError("its statistics are not finite")
        return {**self.run.moments, **found}

    def _passed_over(self, batch: Inputs, problem: str) -> Seen:
        self.skipped += 1
        warnings.warn(f"tent: a batch was answered and not learnt from: {problem}", RuntimeWarning, stacklevel=2)
        return self.see(batch)
