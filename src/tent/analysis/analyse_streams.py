"""The run behind the figures: every method answers the same batches, and every figure is told."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from tent.adapted import Adapted
from tent.analysis.collector import Collector
from tent.analysis.numbers import Numbers
from tent.analysis.observation import Domain, Observation, Predictions, predict
from tent.data.stream import Batch, Stream
from tent.engine.structures import call_inputs, find_logits
from tent.evaluate import Track, evaluate, model_device
from tent.tasks.oracle import reveal

OnLogits: TypeAlias = Callable[[Batch, Mapping[str, Tensor]], None]


def analyse(
    models: Mapping[str, Adapted],
    streams: Mapping[Domain, Stream],
    figures: Sequence[Collector],
    track: Track | None = None,
    *,
    epochs: int = 0,
) -> dict[str, Numbers]:
    """Run every stream through every model, reset before each stream, and return the figures' numbers by name.

    Args:
        models: methods by name, the source first: changes are from the first to the others.
        streams: each of one domain; batches are read once for all models.
        epochs: offline, passes over a stream that are learnt from before it is answered without learning; 0: online.
        track: shows progress over the batches of all streams.
    """
    _check(models, streams, figures)
    active = {
        domain: own
        for domain, stream in streams.items()
        if (own := [figure for figure in figures if _accepts(figure, domain, stream)])
    }
    count = (1 + epochs) * sum(len(streams[domain]) for domain in active)
    what = "analysing 1 stream" if len(active) == 1 else f"analysing {len(active)} streams"
    with closing(_advance_together(track, what, count)) as progress:
        next(progress)
        for domain, own in active.items():
            for model in models.values():
                model.reset()
            on_logits = partial(_add_batch, own, domain)
            answer_together(models, streams[domain], on_logits, partial(_tick, progress), epochs)
            for figure in own:
                figure.end_domain(domain, models)
    return {figure.name: figure.numbers() for figure in figures}


def _accepts(figure: Collector, domain: Domain, stream: Stream) -> bool:
    if not domain.original:
        return True
    return figure.sees_original and (stream.labelled or not figure.needs_labels)


def _add_batch(figures: Sequence[Collector], domain: Domain, batch: Batch, outputs: Mapping[str, Tensor]) -> None:
    labels = None if batch.labels is None else torch.as_tensor(batch.labels)
    by_method = {name: _predict(logits, labels, f"{name} on {domain.name}") for name, logits in outputs.items()}
    seen = Observation(domain, None if labels is None else np.asarray(labels.cpu()), by_method)
    for figure in figures:
        figure.add(seen)


def _predict(logits: Tensor, labels: Tensor | None, where: str) -> Predictions:
    try:
        return predict(logits, labels)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def answer_together(
    models: Mapping[str, Adapted], stream: Stream, on_logits: OnLogits, track: Track | None = None, epochs: int = 0
) -> None:
    """Let every model answer, and learn as its method does, from each batch of a stream, which is read once a pass.

    Args:
        on_logits: called with each batch and the logits of every model by its name.
        epochs: passes of learning before the answers, which then come without any; 0: learn while answering.
    """
    learn_together(models, stream, epochs, track)
    *others, (last, model) = models.items()

    def on_batch(batch: Batch, output: Any) -> None:
        logits = {name: answer(other, batch) for name, other in others}
        on_logits(batch, {**logits, last: _logits(model, batch, output)})

    with ExitStack() as paused:
        for each in models.values() if epochs else ():
            paused.enter_context(each.paused())
        evaluate(model, stream, on_batch=on_batch, track=track)


def learn_together(models: Mapping[str, Adapted], stream: Stream, epochs: int, track: Track | None = None) -> None:
    """Let every model learn from a whole stream so many times; nothing is answered."""
    if epochs < 0:
        raise ValueError(f"epochs {epochs}: give 0 for online, or the passes to learn from first")
    for number in range(1, epochs + 1):
        with closing(stream.prefetch()) as read:
            for batch in track(read, f"learning, pass {number} of {epochs}", len(stream)) if track else read:
                for model in models.values():
                    with _reveal_labels(model, batch):
                        model.fit([batch.to(model_device(model.source))])


def answer(model: Adapted, batch: Batch) -> Tensor:
    """Return a model's logits of a batch; labels are revealed to a method that needs them, as an oracle does."""
    inputs = call_inputs(batch.inputs)
    with _reveal_labels(model, batch):
        return _logits(model, batch, model(*inputs[0], **inputs[1]))


def _reveal_labels(model: Adapted, batch: Batch) -> AbstractContextManager[None]:
    return reveal(batch.labels if "labels" in model.method.needs else None)


def _logits(model: Adapted, batch: Batch, output: Any) -> Tensor:
    return find_logits(output, call_inputs(batch.inputs), model.state.setup.pick)


def _advance_together(track: Track | None, what: str, count: int) -> Generator[None, None, None]:
    """Show one progress over several streams: it is one batch further whenever it is asked for its next."""
    steps: Any = range(count)  # in the place of batches, which a track only counts
    for _ in track(steps, what, count) if track else steps:
        yield
    while True:  # a last batch may be told of too
        yield


def _tick(progress: Iterator[None], batches: Iterable[Batch], what: str, count: int) -> Iterator[Batch]:
    """Pass the batches of one stream on, and move the progress of all along."""
    for batch in batches:
        yield batch
        next(progress)


def _check(models: Mapping[str, Adapted], streams: Mapping[Domain, Stream], figures: Sequence[Collector]) -> None:
    if not models or not streams:
        raise ValueError(f"{len(models)} models and {len(streams)} streams: an analysis needs one of each at least")
    shifted = [figure.name for figure in figures if not figure.sees_original]
    if shifted and all(domain.original for domain in streams):
        what = "is of shifted data, and only the original data are given"
        raise ValueError(f"{', '.join(shifted)}: {what}; add a stream whose Domain is not original")
    unlabelled = [domain.name for domain, stream in streams.items() if not (stream.labelled or domain.original)]
    needy = [figure.name for figure in figures if figure.needs_labels]
    if unlabelled and needy:
        raise ValueError(f"{', '.join(needy)}: needs labels, and {unlabelled[0]} has none; leave it out")
    if unlabelled and any("labels" in model.method.needs for model in models.values()):
        raise ValueError(f"an oracle needs labels, and {unlabelled[0]} has none; leave it out")
