"""A model under adaptation: `adapt` makes it, and it is called like the model itself."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import nn

from tent.artifacts.checkpoint import Checkpoint, capture, describe, revive
from tent.artifacts.delta import Delta, pack
from tent.artifacts.export import bake
from tent.engine.calls import SizeWatch, Update, Watchers
from tent.engine.engine import Engine, refuse_hidden_update
from tent.engine.execution import choose_execution, fuse
from tent.engine.setup import Setup, optimizer_maker
from tent.engine.source_model import SourceModel
from tent.engine.state import State
from tent.engine.structures import Picker, batch_inputs, detach_inputs
from tent.facade import Facade, refuse_adapted
from tent.method import Answers, Method, OptimizerFactory
from tent.methods import Tent
from tent.norm import Batch, Stats
from tent.select import Select, nothing, only


class Adapted(Facade):
    """A model that answers as before and improves itself on the data it meets; its source is never written to."""

    def __init__(self, engine: Engine, episodic: bool = False, answers: Answers = "before") -> None:
        super().__init__(engine)
        self.episodic, self.answers = episodic, answers
        self._watchers = Watchers()

    @property
    def method(self) -> Method:
        """The method that adapts it."""
        return self.engine.method  # type: ignore[return-value]

    @property
    def stats(self) -> Stats:
        """Whose statistics normalise."""
        return self.state.setup.stats

    @property
    def precision(self) -> str:
        """The precision of convolutions and products."""
        dtype = self.state.setup.execution.dtype or next((p.dtype for p in self.source.parameters()), torch.float32)
        return str(dtype).removeprefix("torch.")

    @property
    def updates(self) -> int:
        """The number of batches that were updated on."""
        return self.state.counts.updates

    @property
    def skipped(self) -> int:
        """The number of batches that were answered and not updated on, because they were bad."""
        return self.state.counts.skipped

    @property
    def loss(self) -> float | None:
        """The loss of the last update since the last reset."""
        return self.state.loss

    def _answer(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # as the model does, detached; it adapts behind the answer
        with self._run():
            batch, paused = detach_inputs((inputs, kwargs)), self._access.paused
            began, before = time.perf_counter(), replace(self.state.counts)
            if paused:
                output = self.engine.answer(batch)
            else:
                if self.episodic:
                    self.state.reset()
                output = self.engine.adapt(batch, self.answers)
            answer = self.state.setup.execution.answer(batch, output)
        if not paused:  # outside the pass, so that a callback may reset
            self._watchers.tell(self.state, batch, answer, before, time.perf_counter() - began)
        return answer

    def fit(self, batches: Iterable[Any], epochs: int = 1) -> "Adapted":
        """Adapt over a whole target set first: offline; then answer under `paused()`.

        A batch is x, (x, y), ((x1, x2), y) or a dict of keyword arguments; labels are ignored.
        """
        if self.episodic:
            raise ValueError("fit is of no use when every call resets; make the adaptation with episodic=False")
        if epochs > 1 and iter(batches) is batches:
            raise ValueError(f"{epochs} epochs need batches that can be run through again: pass a list or a DataLoader")
        count = 0
        for _ in range(epochs):
            for batch in batches:
                count += 1
                with self._run():
                    self.engine.adapt(detach_inputs(batch_inputs(batch)), self.answers, wanted=False)
        if not count:
            raise ValueError("fit was given no batches")
        return self

    def prepare(self, batches: Iterable[Any]) -> "Adapted":
        """Show source data to a method that needs them, once, before any test data; labels are ignored."""
        with self._run():
            self.engine.prepare(detach_inputs(batch_inputs(batch)) for batch in batches)
        return self

    @contextmanager
    def paused(self) -> Iterator["Adapted"]:
        """Answer without adapting, inside the `with`, in this thread; other threads do not notice."""
        with self._access.pause():
            yield self

    def on_update(self, callback: Callable[[Update], None]) -> Callable[[], None]:
        """Call back after every batch that is not answered under `paused()`; returns the function that ends it."""
        return self._watchers.add(callback)

    def reset(self) -> None:
        """Go back to the source, exactly: parameters, statistics, optimizer and whatever the method remembers."""
        with self._access.alone():
            self.state.reset()

    def delta(self) -> Delta:
        """Return a copy of what moved and of what is remembered, and nothing else."""
        with self._access.alone():
            about = {"method": repr(self.method), "step": str(self.state.step)}
            return Delta(pack(self.state), self.state.setup.source.fingerprint(), about)

    def load_delta(self, delta: Delta | str | os.PathLike[str]) -> None:
        """Load a delta, or a file of one, made on the same source model; draws go on, the optimizer starts anew."""
        delta = delta if isinstance(delta, Delta) else Delta.load(delta)
        with self._access.alone():
            delta.require_source(self.source)
            delta.require_method(repr(self.method))
            step = int(delta.about.get("step", 0))
            self.load_state_dict(delta.tensors)
            self.state.step = step

    def checkpoint(self) -> Checkpoint:
        """Return a copy of all that the adaptation holds: what `load_checkpoint` continues from, to the bit."""
        with self._access.alone():
            return capture(self.state, self._choices())

    def load_checkpoint(self, checkpoint: Checkpoint | str | os.PathLike[str]) -> None:
        """Go on where a checkpoint, or a file of one, was taken: the same source model, and the same choices."""
        checkpoint = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint.load(checkpoint)
        with self._access.alone():
            checkpoint.require_source(self.state.setup.source.fingerprint())
            checkpoint.require_choices(self._choices())
            self.state.adopt(revive(checkpoint, self.state.setup))

    def _choices(self) -> dict[str, str]:
        own = {"method": self.method, "steps": self.engine.steps, "answers": self.answers, "episodic": self.episodic}
        return describe(self.state, **own, precision=self.precision)

    def baked(self, batches: Iterable[Any] | None = None) -> nn.Module:
        """Return a plain eval-mode copy with γ, β and the statistics of these batches folded in, to export."""
        if type(self.method).answer is not Method.answer:
            raise ValueError(f"{type(self.method).__name__} answers by more than the model, which cannot be baked")
        with self._run():
            return bake(self.state, batches)

    def extra_repr(self) -> str:
        """Describe the adaptation in a line."""
        moving = sum(p.numel() for p in self.parameters())
        total = sum(p.numel() for p in self.source.parameters())
        return f"{type(self.source).__name__}, {self.method}, {self.stats}, moves {moving:,} of {total:,} parameters"


def adapt(
    model: nn.Module,
    method: Method = Tent(),  # noqa: B008 (methods hold options only)
    *,
    select: Select | Iterable[str] | None = None,
    stats: Stats | None = None,
    optimizer: OptimizerFactory | None = None,
    lr: float | None = None,
    steps: int = 1,
    episodic: bool = False,
    answers: Answers | None = None,
    logits: Picker | None = None,
    precision: Literal["float32", "bfloat16", "float16"] = "float32",
    lean: bool = True,
) -> Adapted:
    """Return a model that answers as before and improves itself on the data it is tested on.

    Args:
        method: what one paper does; the four after it, and `answers`, override its choice on each axis.
        select: a model -> the names of the parameters that move, such as those of `tent.select`; or the names.
        stats: whose statistics normalise batch norms, such as those of `tent.norm`.
        optimizer: an optimizer's class, or a function of named parameters; `lr`, if given, is handed to it.
        steps: updates on each batch.
        episodic: go back to the source before every batch.
        answers: of the model before the (last) update, which is the pass that most methods compute it on, or after it.
        logits: picks the logits, classes on axis 1, out of what the model returns.
        precision: of convolutions and products; entropy, statistics and parameters stay in float32.
        lean: whether to take the path that keeps less for the backward pass and is faster; its numbers are the same
            up to the rounding of float32.
    """
    if not isinstance(method, Method):
        raise TypeError(f"method must be a Method such as tent.Tent(), got {method!r}")
    if stats is not None and not isinstance(stats, Stats):
        raise TypeError(f"stats must be a choice of tent.norm such as tent.norm.Batch(), got {stats!r}")
    if steps < 1:
        raise ValueError(f"steps must be 1 or more, got {steps}")
    answers = method.answers if answers is None else answers
    if answers not in ("before", "after"):
        raise ValueError(f"answers must be 'before' or 'after' the update, got {answers!r}")
    refuse_adapted(model)
    select = method.select if select is None else select if callable(select) else only(select)
    source, chosen, stats = SourceModel(model), stats is not None, stats or method.stats
    names = source.resolve(select(source.model))
    plain = type(method).step is Method.step and type(method).answer is Method.answer
    if plain or select is not nothing:  # a method of another kind may have no need of either
        source.require_anything_to_adapt(names, stats, select)
    if episodic:
        refuse_hidden_update(moves=bool(names), steps=steps, answers=answers)
    make_optimizer = optimizer_maker(optimizer or method.optimizer, lr, fuse if lean else None)
    execution = choose_execution(source.model, lean, precision)
    state = State.begin(Setup(source, method, names, stats, make_optimizer, execution, logits))
    sizes = None if chosen or stats != Batch() or not source.normalizes_batches else SizeWatch(refuse_one=episodic)
    return Adapted(Engine(state, method, steps, plain, sizes), episodic, answers)
