"""THE stream loop: a stream through a model under adaptation, counted by a task; all that runs a stream calls it."""

from collections.abc import Callable, Iterable
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import nn

from tent.adapted import Adapted, adapt
from tent.data.stream import Batch, Stream
from tent.engine.engine import refuse_hidden_update
from tent.engine.structures import call_inputs, count_samples
from tent.environment import now
from tent.methods import Source
from tent.tasks.oracle import reveal
from tent.tasks.tally import Tally
from tent.tasks.task import Task

RESETS = ("never", "domain", "batch")
Track: TypeAlias = Callable[[Iterable[Batch], str, int], Iterable[Batch]]  # the batches, what is done, how many
OnBatch: TypeAlias = Callable[[Batch, Any], None]


@dataclass(frozen=True)
class Evaluation:
    """What a stream came to: metrics overall, by domain and by batch (none without a task), and what they cost."""

    metrics: dict[str, float]
    by_domain: dict[str, dict[str, float]]
    by_batch: dict[str, list[float]]
    samples: int
    seconds: float  # inside the model's calls alone; beside them, files of images may be read ahead
    counts: dict[str, int]  # forwards, backwards, updates, skipped, resets


def evaluate(
    model: nn.Module,
    stream: Stream,
    task: Task | None = None,
    *,
    fit: Stream | None = None,
    epochs: int = 1,
    offline: bool = False,
    reset: str = "never",
    pace: float | None = None,
    device: torch.device | None = None,
    on_batch: OnBatch | None = None,
    track: Track | None = None,
    recall: Callable[[Adapted], float | None] | None = None,
    remember: Callable[[Adapted, float], None] | None = None,
    done: int = 0,
    after: Callable[[int], None] | None = None,
) -> Evaluation:
    """Run a stream through a model and return its metrics; an Adapted learns, a plain model only answers.

    Args:
        task: counts labels and answers; None where labels are not known.
        fit: what the passes before the answers learn from; the stream itself unless given.
        epochs: online, passes of which the last is counted; offline, passes of learning before the answers.
        offline: learn first, then answer without learning.
        reset: never, or back to the source before every new domain or every batch.
        pace: the forward passes that the stream leaves for a batch; a batch that comes while an update is still under
            way is answered without one. A backward pass counts as two forward ones. None: the stream waits.
        device: where inputs are moved to; the model's own unless given.
        on_batch: called with every answered batch and the model's output.
        track: wraps the batches of each pass, to show progress.
        recall: puts the model into the state that an offline run learns, and returns the seconds that took then.
        remember: is called with the model and the seconds once it has learnt.
        done: batches, over all passes, that this run had done when it was stopped; metrics are of the rest.
        after: called after every batch, of any pass, with how many are done: to save a run that may be stopped.
    """
    adapted = model if isinstance(model, Adapted) else adapt(model, Source(), lean=False)
    _check_options(adapted, fit, epochs, offline, reset, pace)
    track = track or (lambda batches, what, count: batches)
    run = _Run(adapted, device or model_device(adapted.source), reset, track, done, after, pace)
    before, known = asdict(adapted.state.counts), recall(adapted) if recall and offline else None
    run.seconds, passes = known or 0.0, epochs if offline else epochs - 1
    for i in range(passes if known is None else 0):
        run.learn(fit or stream, f"learning, pass {i + 1} of {passes}")
    if remember and offline and known is None:
        remember(adapted, run.seconds)
    tally = Tally(task) if task else None
    run.answer(stream, tally, on_batch, learns=not offline)
    if remember and not offline:
        remember(adapted, run.seconds)
    counts = {name: value - before[name] for name, value in asdict(adapted.state.counts).items()}
    metrics, domains, batches = (tally.metrics, tally.by_domain, tally.by_batch) if tally else ({}, {}, {})
    return Evaluation(metrics, domains, batches, stream.total, run.seconds, counts)


@dataclass
class _Run:
    """Passes over streams with one model, and the seconds that its calls took."""

    adapted: Adapted
    device: torch.device
    reset: str
    track: Track
    skip: int = 0  # batches that are done
    after: Callable[[int], None] | None = None
    pace: float | None = None
    busy_until: float = 0.0  # in forward passes of a batch, as the pace is
    number: int = 0  # of batches, over all passes
    seconds: float = 0.0
    domain: str | None = None  # of the last batch

    def learn(self, stream: Stream, what: str) -> None:
        rest = self._rest(stream)
        with closing(rest.prefetch()) as batches:
            for batch in self.track(batches, what, len(rest)) if len(rest) else ():
                self._call(batch, partial(self.adapted.fit, [batch.to(self.device)]))
                self._end_batch()

    def answer(self, stream: Stream, tally: Tally | None, on_batch: OnBatch | None, learns: bool) -> None:
        stream = self._rest(stream)
        with closing(stream.prefetch()) as batches:
            for number, batch in enumerate(self.track(batches, "adapting" if learns else "answering", len(stream))):
                placed = batch.to(self.device)
                inputs = call_inputs(placed.inputs)
                in_time, before = learns and number * (self.pace or 0.0) >= self.busy_until, self._passes()
                with nullcontext() if in_time else self.adapted.paused():
                    output = self._call(placed, partial(self.adapted, *inputs[0], **inputs[1]), in_time)
                if self.pace is not None:  # of a late answer one plain pass is free; what it takes beyond is charged
                    spent = (self._passes() - before) / count_samples(inputs)
                    begin = number * self.pace if in_time else self.busy_until - 1
                    self.busy_until = max(self.busy_until, begin + spent)
                if tally:
                    if batch.labels is None:
                        raise ValueError(f"{stream.name}: its labels are not known, so that nothing can be measured")
                    read = tally.task.read(output, inputs, batch.labels, self.adapted.state.setup.pick)
                    tally.add(*read, stream.batch_domains(number))
                if on_batch:
                    on_batch(placed, output)
                self._end_batch()

    def _rest(self, stream: Stream) -> Stream:
        """Return what a pass over a stream has still to do."""
        if self.number >= self.skip:
            return stream
        own = min(self.skip - self.number, len(stream.readable))
        self.number += own
        return stream.after(own)

    def _end_batch(self) -> None:
        self.number += 1
        if self.after:
            self.after(self.number)

    def _passes(self) -> int:
        counts = self.adapted.state.counts
        return counts.forwards + 2 * counts.backwards

    def _call(self, batch: Batch, call: Callable[[], Any], learns: bool = True) -> Any:
        reveals = learns and "labels" in self.adapted.method.needs
        begun = now(self.device)
        if learns:
            self._reset(batch.domain)
        with reveal(batch.labels) if reveals else nullcontext():
            output = call()
        self.seconds += now(self.device) - begun
        return output

    def _reset(self, domain: str) -> None:
        if self.reset == "batch" or (self.reset == "domain" and self.domain not in (None, domain)):
            self.adapted.reset()
        self.domain = domain


def model_device(model: nn.Module) -> torch.device:
    """Return where a model's parameters are; the CPU if it has none."""
    return next((param.device for param in model.parameters()), torch.device("cpu"))


def protocol(
    adapted: Adapted,
    stream: Stream,
    *,
    fit: Stream | None = None,
    epochs: int = 1,
    offline: bool = False,
    reset: str = "never",
    pace: float | None = None,
) -> dict[str, str]:
    """Return in words what was run, for every number to carry; call it after the run, since it counts updates."""
    optimizer = adapted.state.optimizer
    group = optimizer.param_groups[0] if optimizer else {}
    moving = [param.numel() for param in adapted.parameters()]
    words = {
        "data": stream.protocol,
        "order": f"{stream.order_words}, the same for all methods",
        "images": f"{stream.total:,}",
        "batch": f"{stream.batch_size} images",
        "method": repr(adapted.method),
        "statistics": repr(adapted.stats),
        "moves": f"{sum(moving):,} parameters in {len(moving)} tensors",
        "when": _when_words(adapted, epochs, offline),
        "reset": _reset_words(adapted, reset),
        "answers": _answers_words(adapted, offline) if moving or adapted.updates else "no update",
        "steps": f"{adapted.engine.steps} a batch",
        "precision": adapted.precision,
        "optimizer": type(optimizer).__name__ if optimizer else "none",
        "lr": f"{group['lr']:g}" if group else "none",
        "updates": f"{adapted.updates:,} batches updated on, {adapted.skipped:,} skipped",
    }
    if "labels" in adapted.method.needs:
        words["labels"] = "revealed with every batch that is updated on: a bound, not a method"
    if pace is not None:
        words["pace"] = f"{pace:g} forward passes for a batch; one that comes during an update is answered without"
    return {**words, **({} if fit is None else {"fitted on": fit.protocol})}


def _when_words(adapted: Adapted, epochs: int, offline: bool) -> str:
    if adapted.episodic:
        return "episodic: every batch by itself"
    passes = "one pass" if epochs == 1 else f"{epochs} passes"
    if offline:
        return f"offline: {passes} of learning, then answers without learning"
    return f"online: {passes}" + ("" if epochs == 1 else ", the answers of the last one are counted")


def _reset_words(adapted: Adapted, reset: str) -> str:
    if adapted.episodic or reset == "batch":
        return "before every batch"
    return "before every new domain" if reset == "domain" else "before the stream, never in it"


def _answers_words(adapted: Adapted, offline: bool) -> str:
    return "after all learning, with no update between them" if offline else f"{adapted.answers} the update"


def _check_options(
    adapted: Adapted, fit: Stream | None, epochs: int, offline: bool, reset: str, pace: float | None
) -> None:
    if reset not in RESETS:
        raise ValueError(f"reset {reset!r}: choose from {', '.join(RESETS)}")
    if epochs < 1:
        raise ValueError(f"epochs {epochs}: give 1 or more")
    if pace is not None and (offline or epochs > 1 or not pace > 0):
        raise ValueError(f"pace {pace}: give a number above 0, and one online pass; or None for a stream that waits")
    if offline and reset != "never":
        raise ValueError(f"reset {reset!r} with offline: all of the stream is learnt from before anything is answered")
    if reset == "batch":
        refuse_hidden_update(moves=bool(adapted.state.params), steps=adapted.engine.steps, answers=adapted.answers)
    if fit is not None and not offline and epochs == 1:
        raise ValueError("fit is never learnt from in one online pass; pass offline=True, or epochs=2 or more")
    if adapted.episodic and (offline or epochs > 1):
        raise ValueError("an episodic adaptation forgets every batch; give it one pass, online")
