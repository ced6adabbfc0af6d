"""A model under adaptation: `adapt` makes it, and it is called like the model itself."""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import torch
from torch import nn
from torch.optim import Optimizer

from tent.delta import Delta
from tent.engine.engine import Engine
from tent.engine.eval_mode import evaluating
from tent.engine.execution import choose_execution, fuse
from tent.engine.source_model import SourceModel
from tent.engine.structures import Picker, batch_inputs, detach_inputs, detach_output
from tent.export import bake
from tent.method import Answers, Method, OptimizerFactory
from tent.methods import Tent
from tent.norm import Stats
from tent.select import Select


class Adapted(nn.Module):
    """A model that answers as before and improves itself on the data it meets; its source is never written to."""

    def __init__(self, engine: Engine, episodic: bool = False, answers: Answers = "before") -> None:
        super().__init__()
        self.engine, self.episodic, self.answers = engine, episodic, answers
        self._paused = False
        self._lock = threading.RLock()

    @property
    def source(self) -> nn.Module:
        """The model that was handed in."""
        return self.engine.source.model

    @property
    def updates(self) -> int:
        """The number of batches learnt from."""
        return self.engine.updates

    @property
    def skipped(self) -> int:
        """The number of batches that were answered and not learnt from, because they were bad."""
        return self.engine.skipped

    @property
    def loss(self) -> float | None:
        """The loss of the last update since the last reset."""
        return self.engine.state.loss

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Answer as the model does, detached, and adapt behind the answer."""
        with self._at_work():
            batch = detach_inputs((inputs, kwargs))
            if self._paused:
                seen = self.engine.forward(batch)
            else:
                if self.episodic:
                    self.engine.reset()
                seen = self.engine.adapt(batch, self.answers)
            return self.engine.execution.answer(batch, detach_output(self.engine.method.answer(seen)))

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
                with self._at_work():
                    self.engine.adapt(detach_inputs(batch_inputs(batch)), self.answers, wanted=False)
        if not count:
            raise ValueError("fit was given no batches")
        return self

    @contextmanager
    def paused(self) -> Iterator["Adapted"]:
        """Answer without adapting, inside the `with`."""
        before, self._paused = self._paused, True
        try:
            yield self
        finally:
            self._paused = before

    def reset(self) -> None:
        """Go back to the source, exactly: parameters, statistics, optimizer and whatever the method remembers."""
        with self._lock:
            self.engine.reset()

    def delta(self) -> Delta:
        """Return a copy of what moved and of the statistics that are remembered, and nothing else."""
        return Delta(self.state_dict(), self.engine.source.fingerprint(), {"method": repr(self.engine.method)})

    def load_delta(self, delta: Delta | str | os.PathLike[str]) -> None:
        """Take over a delta, or a file of one, made on the same source model; the optimizer starts anew."""
        delta = delta if isinstance(delta, Delta) else Delta.load(delta)
        ours = self.engine.source.fingerprint()
        if delta.source != ours:
            raise ValueError(
                f"the delta was made on another model ({delta.source[:12]}) than this {type(self.source).__name__} "
                f"({ours[:12]}); adapt the model, with the weights, that it was made on"
            )
        self.load_state_dict(delta.tensors)

    def baked(self, batches: Iterable[Any] | None = None) -> nn.Module:
        """Return a plain eval-mode copy with γ, β and the statistics of these batches folded in, to export."""
        with self._at_work():
            return bake(self.engine, batches)

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return the delta's tensors: what moved, under its names in the source model's own state_dict."""
        with self._lock:
            tensors = {prefix + name: tensor for name, tensor in self.engine.state.tensors().items()}
        return tensors if destination is None else destination.update(tensors)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Take a delta's tensors over; what is not among them goes back to the source."""
        run, optimizer = self.engine.fresh()
        run.put(state_dict, self.engine.source.norms if self.engine.stats.remembers else ())
        with self._lock:
            self.engine.state, self.engine.optimizer = run, optimizer

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Yield what moves; the source's own parameters are not this module's."""
        yield from self.engine.state.params.items()

    def extra_repr(self) -> str:
        """Describe the adaptation in a line."""
        moving = sum(p.numel() for p in self.parameters())
        total = sum(p.numel() for p in self.source.parameters())
        name, method, stats = type(self.source).__name__, self.engine.method, self.engine.stats
        return f"{name}, {method}, {stats}, moves {moving:,} of {total:,} parameters"

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._lock, torch.inference_mode(False), evaluating(self.engine.source.modules):
            try:
                yield
            finally:
                self.engine.execution.ended()

    def _apply(self, fn: Any, recurse: bool = True) -> "Adapted":
        for tensor in [p.detach() for p in self.source.parameters()][:1]:
            moved = fn(tensor)
            if (moved.device, moved.dtype) != (tensor.device, tensor.dtype):
                raise RuntimeError("the source model is never written to; move or convert it first, then adapt it")
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


def adapt(
    model: nn.Module,
    method: Method = Tent(),  # noqa: B008 (methods hold options only)
    *,
    select: Select | None = None,
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
        select: a model -> the names of the parameters that move, such as those of `tent.select`.
        stats: whose statistics normalise batch norms, such as those of `tent.norm`.
        optimizer: an optimizer's class, or a function of the parameters; `lr`, if given, is handed to it.
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
    source, stats = SourceModel(model), stats or method.stats
    names = source.chosen((select or method.select)(source.model))
    source.require_anything_to_adapt(names, stats, select or method.select)
    if episodic and names and steps == 1 and answers == "before":
        raise ValueError(
            "episodic with one step and answers before the update would never show the update; "
            "pass answers='after' or steps=2 or more"
        )
    factory, execution = _factory(optimizer or method.optimizer, lr), choose_execution(source.model, lean, precision)
    factory = fuse(factory) if lean else factory
    return Adapted(Engine(source, method, names, stats, factory, steps, logits, execution), episodic, answers)


def _factory(optimizer: OptimizerFactory, lr: float | None) -> OptimizerFactory:
    if isinstance(optimizer, Optimizer) or not callable(optimizer):
        raise TypeError(f"optimizer must be a class or a function of the parameters, got {type(optimizer).__name__}")
    return optimizer if lr is None else partial(optimizer, lr=lr)
