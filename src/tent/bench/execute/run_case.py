"""Run one case: zoo, stream and method, to metrics and everything that a number must carry."""

import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial

import torch

from tent.adapted import Adapted
from tent.bench.case import Case
from tent.bench.execute.adapted_cache import AdaptedCache
from tent.bench.execute.build import build_adapted
from tent.bench.execute.case_progress import CaseProgress, Report
from tent.bench.execute.inputs import build_stream, load_entry, pin_case
from tent.bench.execute.peak_memory import measure_peak_memory
from tent.bench.read.training import budget
from tent.bench.result import Result
from tent.data.stream import Stream
from tent.engine.structures import call_inputs
from tent.environment import best_device, provenance
from tent.evaluate import Evaluation, evaluate, protocol
from tent.models.entry import Entry
from tent.tasks import TASKS
from tent.tasks.oracle import reveal

_peaks: dict[tuple[object, ...], int] = {}  # one step is like another: measured once a process


def run_case(
    case: Case, weights: str | None = None, cache: AdaptedCache | None = None, report: Report | None = None
) -> Result:
    """Run a case and return its result.

    Args:
        weights: a file that takes the place of the model's own weights.
        cache: what other cases have learnt, and where to keep what this one does.
        report: is told which share of the case is done, twice a second at most.
    """
    case = pin_case(case, weights)
    entry, device = load_entry(case.model, weights), best_device()
    entry.model.to(device)
    stream = build_stream(case, case.data, entry)
    with _ignore_skips():
        found, words = _evaluate(case, stream, entry, cache, report)
        peak = _measure_peak(case, entry, stream, device)
    return Result(
        case=case,
        metrics=found.metrics,
        by_batch={name: list(values) for name, values in found.by_batch.items()},
        by_domain=found.by_domain,
        counts=found.counts,
        seconds=found.seconds,
        images_per_second=stream.total / found.seconds,
        peak_memory=peak,
        images=stream.total,
        protocol=words,
        training=dict(entry.training or {}),
        **provenance(device),
    )


def failure(case: Case, error: BaseException | str) -> Result:
    """Return the result of a case that could not be run."""
    said = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return Result(case, error=" ".join(said.split()), **provenance(best_device()))


def _evaluate(
    case: Case, stream: Stream, entry: Entry, cache: AdaptedCache | None, report: Report | None
) -> tuple[Evaluation, dict[str, str]]:
    torch.manual_seed(case.seed)  # for a method that draws
    adapted = build_adapted(case, entry)
    whole = replace(case, domains="sequence", images=None)  # how much is fitted to is said by its own part
    fit = build_stream(whole, [case.fit], entry) if case.fit else None
    shown = replace(whole, order="shuffled")
    prepare = build_stream(shown, [case.prepare], entry) if case.prepare else None
    if prepare is not None:
        with closing(prepare.prefetch()) as batches:
            adapted.prepare(batches)
    progress = CaseProgress(case.epochs + (case.when == "offline"), report)

    def recall(adapted: Adapted) -> float | None:
        known = cache.recall(case, adapted) if cache else None
        if known is not None:
            progress.passes = 1  # the answers are all that is left
        return known

    found = evaluate(
        adapted,
        stream,
        TASKS[case.task](stream.classes),
        fit=fit,
        epochs=case.epochs,
        offline=case.when == "offline",
        reset="never" if adapted.episodic else case.reset,  # which resets itself
        pace=case.pace,
        track=progress,
        recall=recall,
        remember=partial(cache.keep, case) if cache else None,
    )
    words = protocol(
        adapted, stream, fit=fit, epochs=case.epochs, offline=case.when == "offline", reset=case.reset, pace=case.pace
    )
    more = {} if case.momentum is None else {"momentum": f"{case.momentum:g}"}
    more |= {"source images": prepare.protocol} if prepare is not None else {}
    more |= {"training": budget(entry.training)} if entry.training else {}
    return found, {"model": f"{case.model}, state {case.weights[:12]}", **words, **more}


def _measure_peak(case: Case, entry: Entry, stream: Stream, device: torch.device) -> int:
    bare = tuple(replace(each, sha256="") for each in case.data)
    size = min(stream.total, case.batch_size)
    key = (replace(case, data=bare, fit=None, prepare=None, seed=0, images=size), device)
    if key not in _peaks:
        batch, adapted = next(iter(stream)), build_adapted(case, entry)
        inputs = call_inputs(batch.to(device).inputs)
        if "source data" in adapted.method.needs:
            adapted.prepare([batch])  # any images: what is measured is memory
        revealed = batch.labels if "labels" in adapted.method.needs else None
        with reveal(revealed):
            _peaks[key] = measure_peak_memory(adapted, inputs)
    return _peaks[key]


@contextmanager
def _ignore_skips() -> Iterator[None]:
    """Keep a batch that was skipped from being remarked on: the protocol counts them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "tent: a batch was answered", RuntimeWarning)
        yield
