"""One adaptation from end to end: online, offline or image by image, beside the source model's own answers."""

from collections.abc import Callable, Iterable
from typing import Any

from tent.adapted import Adapted, adapt
from tent.apps.record import Record, names_of
from tent.data.stream import Batch, Stream
from tent.engine.structures import find_logits
from tent.methods import Source
from tent.models.entry import Entry

Track = Callable[[Iterable[Batch], str, int], Iterable[Batch]]  # the batches, what is done, how many


def record(entry: Entry, adapted: Adapted, stream: Stream, epochs: int, track: Track) -> Record:
    """Run a stream through the source and the adapted model; `epochs` of it are learnt from beforehand, offline."""
    for epoch in range(epochs):
        adapted.fit(track(stream, f"learning, epoch {epoch + 1} of {epochs}", len(stream)))
    source, kept = adapt(entry.model, Source()), None
    for x, y, _ in track(stream, "answering" if epochs else "adapting", len(stream)):
        before = find_logits(source(x), ((x,), {}))
        kept = kept or Record(_names(entry, stream, before.shape[1]))
        if epochs:
            with adapted.paused():
                after = adapted(x)
        else:
            after = adapted(x)
        kept.add(before, find_logits(after, ((x,), {})), y)
    if kept is None:
        raise ValueError(f"{stream.name}: no images to adapt to")
    return kept


def _names(entry: Entry, stream: Stream, classes: int) -> tuple[str, ...]:
    if stream.classes is not None and stream.classes > classes:
        raise ValueError(f"{stream.name} has {stream.classes} classes, but {entry.name} answers with {classes}")
    return names_of(classes, tuple(entry.class_names) if entry.class_names else None)


def protocol(entry: Entry, adapted: Adapted, stream: Stream, epochs: int) -> dict[str, Any]:
    """Return in words what was run, for every number to carry."""
    engine = adapted.engine
    if epochs:
        when = f"offline: {epochs} epochs of learning, then answers"
    elif adapted.episodic:
        when = "episodic: back to the source before every batch"
    else:
        when = "online: one pass, never reset"
    return {
        "model": entry.name,
        "weights": entry.weights,
        "data": stream.protocol,
        "method": repr(engine.method),
        "statistics": repr(engine.stats),
        "when": when,
        "steps": engine.steps,
        "answers": f"{adapted.answers} the update",
        "optimizer": type(engine.optimizer).__name__ if engine.optimizer else "none",
        "lr": engine.optimizer.param_groups[0]["lr"] if engine.optimizer else None,
        "updates": adapted.updates,
        "skipped": adapted.skipped,
    }
