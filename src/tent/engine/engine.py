"""A batch's way: run it, take the method's step, answer; a bad batch is answered and never updated on."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

import torch

from tent.engine import distributed
from tent.engine.calls import SizeWatch
from tent.engine.forward_pass import ForwardPass
from tent.engine.mode import Moments
from tent.engine.state import NotFiniteError, ScaledTooFarError, State
from tent.engine.structures import Inputs, all_finite, detach_output, is_empty

SMALL = 1 << 20  # values that move, which are cheap to copy before every update
Answers: TypeAlias = Literal["before", "after"]  # the update


class Rule(Protocol):
    """What the engine needs of a method."""

    needs: frozenset[str]
    uses_pass: bool

    def prepare(self, state: State, batches: Iterable[ForwardPass]) -> None:
        """Look at source data."""

    def step(self, seen: ForwardPass, state: State) -> None:
        """Update on a batch."""

    def answer(self, seen: ForwardPass, state: State) -> Any:
        """Answer a batch."""


@dataclass
class Engine:
    """An adaptation's choices and its state.

    Args:
        plain: whether step and answer are `Method`'s own: what moves then moves last, when nothing can fail any more.
        sizes: looks out for batches that are too small, where nobody has chosen the statistics.
    """

    state: State
    method: Rule
    steps: int = 1
    plain: bool = False
    sizes: SizeWatch | None = None

    def prepare(self, batches: Iterable[Inputs]) -> None:
        """Let the method look at source data, once; resets keep what it learns from them."""
        state, before = self.state, dict(self.state.tensors)
        try:
            with torch.enable_grad():
                self.method.prepare(state, self._source_passes(batches))
            changed = {name: tensor for name, tensor in state.tensors.items() if tensor is not before.get(name)}
        except BaseException:
            state.tensors = before
            raise
        finally:
            state.clear_gradients()
        state.setup = replace(state.setup, prepared={**(state.setup.prepared or {}), **changed})

    def _source_passes(self, batches: Iterable[Inputs]) -> Iterator[ForwardPass]:
        count = 0
        for count, batch in enumerate(batches, 1):  # noqa: B007
            self.state.clear_gradients()  # the graph of the one before
            yield self.state.run(batch, grad=bool(self.state.params))
        if not count:
            raise ValueError("prepare was given no batches")

    def answer(self, batch: Inputs) -> Any:
        """Answer a batch at the state of now, without an update."""
        return self._answer(self.state.run(batch))

    def adapt(self, batch: Inputs, answers: Answers = "before", wanted: bool = True) -> Any:
        """Update on a batch, and answer it by a pass before or after that; no answer is computed if none is wanted."""
        if "source data" in self.method.needs and self.state.setup.prepared is None:
            raise ValueError(f"{type(self.method).__name__} needs source data: call adapted.prepare(batches) first")
        problem = "it is empty" if is_empty(batch) else None if all_finite(batch) else "it holds NaN or Inf"
        if self.state.group is not None and not distributed.agree(problem is None, self.state.group):
            problem = problem or "another rank's batch is bad"
        if problem:
            return self._skip(batch, problem, wanted)
        try:
            return self._update(batch, answers, wanted)
        except NotFiniteError as error:
            return self._skip(batch, str(error), wanted)
        finally:
            self.state.clear_gradients()

    def _update(self, batch: Inputs, answers: Answers, wanted: bool) -> Any:
        state, before = self.state, self._progress()
        deep = self.steps > 1 or answers == "after" or not self.plain or state.size <= SMALL
        restore = state.snapshot(deep)
        # what is remembered is of the batch itself, so a step that uses no pass on it needs one all the same
        needed = wanted or (self.state.setup.stats.remembers and not self.method.uses_pass)
        try:
            for left in reversed(range(self.steps)):
                seen, answer = self._step(batch, needed and answers == "before" and not left)
                if left:
                    del seen  # its large tensors, before those of the next pass are made
            if answers == "after" and needed:
                # where nothing moves, the pass that was made is as good as another
                seen = seen if seen.ran and not state.params else state.run(batch)
                if not self.method.uses_pass:
                    state.moments = self._remember(seen)
                answer = self._answer(seen)
        except BaseException:
            half_done = state.moving and not deep
            restore()
            if half_done:
                state.reset()
                warnings.warn("tent: interrupted amid an update, so the state was reset", RuntimeWarning, stacklevel=2)
            raise
        state.counts.updates += self._progress() != before
        return answer

    def _progress(self) -> tuple[object, ...]:
        # what differs once a batch was updated on; a snapshot holds the tensors, so that no id is used twice
        state = self.state
        return state.counts.resets, state.gradients, {name: id(tensor) for name, tensor in state.tensors.items()}

    def _step(self, batch: Inputs, answers: bool) -> tuple[ForwardPass, Any]:
        state, method = self.state, self.method
        while True:
            retry = state.snapshot(deep=not self.plain) if state.scale != 1.0 else None
            seen = state.run(batch, grad=method.uses_pass and bool(state.params))
            if method.uses_pass:
                seen.output  # noqa: B018 (the pass is made here)
                self._look(seen)
            answer = self._answer(seen) if answers else None
            moments = self._remember(seen) if seen.ran or answers else state.moments
            resets = state.counts.resets
            try:
                with torch.enable_grad():
                    method.step(seen, state)
            except ScaledTooFarError:
                if retry is None:
                    raise
                retry()
                continue  # at a smaller scale, which has an end
            if state.counts.resets == resets:  # else the method has reset, and this is the state to begin with
                state.moments, state.step = moments, state.step + 1
            return seen, answer

    def _answer(self, seen: ForwardPass) -> Any:
        with torch.no_grad():
            answer = detach_output(self.method.answer(seen, self.state), self.state.params.values())
        self._look(seen)
        return answer

    def _look(self, seen: ForwardPass) -> None:
        if self.sizes is not None and seen.ran:
            self.sizes.look(seen)

    def _remember(self, seen: ForwardPass) -> dict[str, Moments]:
        if not self.state.setup.stats.remembers:
            return self.state.moments
        if not all(bool(m.mean.isfinite().all() and m.var.isfinite().all()) for m in seen.moments.values()):
            raise NotFiniteError("its statistics are not finite")
        return {**self.state.moments, **seen.moments}

    def _skip(self, batch: Inputs, problem: str, wanted: bool) -> Any:
        self.state.counts.skipped += 1
        warnings.warn(f"tent: a batch was answered and skipped: {problem}", RuntimeWarning, stacklevel=2)
        return self.answer(batch) if wanted else None


def refuse_hidden_update(moves: bool, steps: int, answers: Answers) -> None:
    """Refuse a reset before every batch where no answer would show the update."""
    if moves and steps == 1 and answers == "before":
        raise ValueError(
            "episodic with one step and answers before the update would never show the update; "
            "pass answers='after' or steps=2 or more"
        )
