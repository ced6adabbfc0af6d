"""Run one case: zoo, stream and method, to metrics and everything that a number must carry."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tent.adapted import Adapted
from tent.bench.case import Case
from tent.bench.execute.adapted_cache import Lessons
from tent.bench.execute.build import adapted_of
from tent.bench.execute.inputs import entry_of, pinned, stream_of
from tent.bench.execute.metrics import by_batch, measured
from tent.bench.execute.oracle import shown
from tent.bench.execute.peak import peak
from tent.bench.execute.protocol import protocol
from tent.bench.result import Result
from tent.data.stream import Stream
from tent.engine.structures import find_logits
from tent.train.card import hardware, versions

_peaks: dict[tuple[object, ...], int] = {}  # one step is like another: measured once a process


@dataclass
class Answers:
    """Logits and labels of every batch, and the seconds that learning and answering took."""

    logits: list[NDArray[np.float32]] = field(default_factory=list)
    labels: list[NDArray[np.int64]] = field(default_factory=list)
    seconds: float = 0.0


def run(case: Case, weights: str | None = None, lessons: Lessons | None = None) -> Result:
    """Run a case and return its result.

    Args:
        weights: a file that takes the place of the model's own weights.
        lessons: what other cases have learnt, and where to keep what this one does.
    """
    case = pinned(case, weights)
    entry, device = entry_of(case.model, weights), chosen()
    model = entry.model.to(device)
    torch.manual_seed(case.seed)  # for a method that draws
    stream, adapted = stream_of(case, case.data, entry), adapted_of(case, model)
    learnt = stream if case.fit is None else stream_of(case, case.fit, entry)
    with _quiet():
        answers = answered(case, adapted, learnt, stream, device, lessons)
    return Result(
        case=case,
        metrics=measured(answers.logits, answers.labels),
        by_batch=by_batch(answers.logits, answers.labels),
        seconds=answers.seconds,
        images_per_second=stream.total / answers.seconds,
        peak_memory=_peak(case, model, stream, device),
        images=stream.total,
        protocol=protocol(case, adapted, stream, learnt, entry.training),
        training=dict(entry.training or {}),
        **circumstances(device),  # type: ignore[arg-type]
    )


def failed(case: Case, error: BaseException | str) -> Result:
    """Return the result of a case that could not be run."""
    said = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return Result(case, error=" ".join(said.split()), **circumstances(chosen()))  # type: ignore[arg-type]


def answered(
    case: Case, adapted: Adapted, learnt: Stream, stream: Stream, device: torch.device, lessons: Lessons | None
) -> Answers:
    """Learn and answer as a case says; the clock runs inside the adapted model's calls alone."""
    offline = case.when == "offline"
    known = lessons.recall(case, adapted) if lessons and offline else None
    kept = Answers(seconds=known or 0.0)
    for _ in range(0 if known is not None else case.epochs if offline else case.epochs - 1):
        for x, y in _placed(learnt, device):
            begun = _now(device)
            with shown(adapted.engine.method, y):
                adapted.fit([x])
            kept.seconds += _now(device) - begun
    if lessons and offline and known is None:
        lessons.keep(case, adapted, kept.seconds)
    for x, y in _placed(stream, device):
        begun = _now(device)
        with adapted.paused() if offline else shown(adapted.engine.method, y):
            output = adapted(x)
        kept.seconds += _now(device) - begun
        kept.logits.append(find_logits(output, ((x,), {})).float().cpu().numpy())
        kept.labels.append(y.numpy())
    if lessons and case.when == "online":
        lessons.keep(case, adapted, kept.seconds)
    return kept


def chosen() -> torch.device:
    """Return the device that cases are run on: an accelerator where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def circumstances(device: torch.device) -> dict[str, object]:
    """Return the software, the machine, the commit and the time of a result."""
    software = dict(_versions())
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    return {"commit": software.pop("commit"), "versions": software, "hardware": hardware(device), "finished": now}


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    return versions()  # asks git: once a process, and of the code that it began with


def _placed(stream: Stream, device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    for x, y, _ in stream:
        if y is None:
            raise ValueError(f"{stream.name}: its labels are not known, and a benchmark needs them")
        yield x.to(device), y


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _peak(case: Case, model: nn.Module, stream: Stream, device: torch.device) -> int:
    same = replace(
        case, data=replace(case.data, sha256=""), fit=None, seed=0, images=min(stream.total, case.batch_size)
    )
    key = (replace(same, note={}), device)
    if key not in _peaks:
        x, y = next(_placed(stream, device))
        adapted = adapted_of(case, model)
        with _quiet(), shown(adapted.engine.method, y):
            _peaks[key] = peak(adapted, x)
    return _peaks[key]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep a batch that was passed over from being remarked on: the protocol counts them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "tent: a batch was answered", RuntimeWarning)
        yield
