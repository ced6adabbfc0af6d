"""Calls of an adaptation: one at a time, paused by thread, and watched: by who asks to, and for batches too small."""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from tent.engine.forward_pass import ForwardPass
from tent.engine.setup import Counts
from tent.engine.state import State
from tent.engine.structures import Inputs, count_samples, find_logits
from tent.losses import confidence, entropy
from tent.norm import FEW_SAMPLES, USUAL_BATCH, for_batch_size


class Access:
    """Who may use an adaptation when; a copy begins with nobody using it."""

    def __init__(self) -> None:
        self._lock, self._pauses, self._running = threading.RLock(), threading.local(), False

    @property
    def paused(self) -> bool:
        """Whether this thread has paused the adaptation."""
        return getattr(self._pauses, "depth", 0) > 0

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Pause for this thread."""
        depth = getattr(self._pauses, "depth", 0)
        try:
            self._pauses.depth = depth + 1
            yield
        finally:
            self._pauses.depth = depth

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other threads out, and refuse what comes from inside a pass."""
        with self._lock:
            if self._running:
                raise RuntimeError("an adaptation was called, reset or loaded inside its own pass; do so after it")
            yield

    @contextmanager
    def run(self) -> Iterator[None]:
        """Be inside a pass."""
        with self.alone():
            try:
                self._running = True
                yield
            finally:
                self._running = False

    def __reduce__(self) -> tuple[type["Access"], tuple[()]]:
        return Access, ()


@dataclass(frozen=True)
class Update:
    """One batch: whether it was updated on, and what the model made of it; no label is needed for any of this."""

    index: int  # of the batch, from 0
    loss: float | None  # of the last update
    entropy: float | None  # mean over the predictions, in nats; None where the answer has no logits
    confidence: float | None
    skipped: bool
    reset: bool  # whether the state went back to the source for this batch
    drift: float  # distance of the moved parameters from the source's, as a share of their length
    seconds: float


class Watchers:
    """Those who are told of every batch, and how many batches they were told of."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[Update], None]] = []
        self.batches = 0

    def add(self, callback: Callable[[Update], None]) -> Callable[[], None]:
        """Call back from now on; return the function that ends it."""
        self.callbacks.append(callback)

        def end() -> None:
            self.callbacks = [each for each in self.callbacks if each is not callback]

        return end

    def tell(self, state: State, batch: Inputs, answer: Any, before: Counts, seconds: float) -> None:
        """Tell of a batch that was just answered, given the counts before; nothing is computed where nobody watches."""
        if not self.callbacks:
            return
        try:
            logits = find_logits(answer, batch, state.setup.pick)
            spread, sure = float(entropy(logits).mean()), float(confidence(logits).mean())
        except ValueError:
            spread = sure = None  # type: ignore[assignment]
        skipped, reset = state.counts.skipped > before.skipped, state.counts.resets > before.resets
        update = Update(self.batches, state.loss, spread, sure, skipped, reset, drift(state), seconds)
        self.batches += 1
        for callback in list(self.callbacks):
            callback(update)


@torch.no_grad()
def drift(state: State) -> float:
    """Return how far the parameters have moved, as a share of the source's length."""
    pairs = [(param, state.source[name]) for name, param in state.params.items() if name in state.setup.source.places]
    moved = sum(float((param - own).square().sum()) for param, own in pairs)
    length = sum(float(own.square().sum()) for _, own in pairs)
    return (moved / length) ** 0.5 if length else 0.0


@dataclass
class SizeWatch:
    """Speaks up, once, when classes are told by statistics of a batch of so few samples that they spoil the answers.

    Args:
        refuse_one: whether to refuse a stream that begins with a batch of one sample.
    """

    refuse_one: bool = False
    spoke: bool = False
    larger: bool = False  # whether there was a larger batch

    def look(self, seen: ForwardPass) -> None:
        """Look at a pass that was made."""
        samples = count_samples(seen.inputs)
        self.larger |= samples > 1
        if self.spoke or not 0 < samples < FEW_SAMPLES or not _tells_classes(seen):
            return
        what = f"{samples} {'sample' if samples == 1 else 'samples'} in a batch: too few to normalise by"
        remedy = f"pass stats=tent.norm.{for_batch_size(samples)!r}, or bring batches of {USUAL_BATCH} or more"
        if self.refuse_one and not self.larger:
            raise ValueError(f"{what}, so that every image gets the same answer; {remedy}")
        self.spoke = True
        warnings.warn(f"tent: {what}, which spoils the answers; {remedy}", RuntimeWarning, stacklevel=2)


def _tells_classes(seen: ForwardPass) -> bool:
    # of whole samples: where every pixel is told, one image is many samples
    try:
        return seen.logits.dim() == 2
    except ValueError:
        return False
