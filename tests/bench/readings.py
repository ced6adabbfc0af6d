"""Results that were never run: a store with numbers that a test knows beforehand."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tent.bench.case import Case
from tent.bench.result import Result
from tent.bench.store import Store
from tent.bench.suite import Suite

WEIGHTS, DATA = "a1" * 32, "d1" * 32
LEARNS = ("pl", "tent", "ttt", "oracle")
TRAINING = {  # as a card has it
    "method": "rg",
    "source": "svhn train",
    "source_images": 73257,
    "target": "mnist train",
    "target_images": 60000,
    "target_sha256": "e1" * 32,
    "epochs": 10,
    "start": "random weights",
    "seconds": 3600.4,
    "forward": 1_465_140,
    "backward": 1_465_140,
}


def result(case: Case, error: float, seconds: float = 2.0, images: int = 1000, **changes: object) -> Result:
    """Return what a case might have given."""
    case = case if case.weights else case.pin(WEIGHTS, lambda _: DATA)
    choices = {}
    if rule := case.choose.get("threshold"):  # as if it had been followed
        choices = {"threshold": {"suite": rule, "errors": {"0": 0.2, "0.9": 0.19}}}
        case = case.decide("threshold", 0.9)
    metrics = {"error": error, "cross_entropy": 2 * error, "entropy": error / 2, "ece": error / 4}
    metrics |= {case.task_type.primary: error}
    whole = Result(
        case,
        metrics=metrics,
        by_domain={data.label: metrics for data in case.data} if len(case.data) > 1 else {},
        by_batch={name: [error, error] for name in ("error", "cross_entropy", "entropy", "ece")},
        seconds=seconds,
        images_per_second=images / seconds,
        peak_memory=10**6,
        images=images,
        protocol=words(case, images),
        versions={"tent": "0.1.0", "torch": "2.15.0"},
        hardware="a processor, 2 threads",
        commit="c" * 40,
        finished=f"2026-01-01T00:00:0{case.seed % 10}+00:00",
        training=TRAINING if case.model.startswith("trained:") else {},
        counts={"forwards": images, "backwards": images if case.method in LEARNS else 0},
        choices=choices,
    )
    return replace(whole, **changes)


def words(case: Case, images: int) -> Mapping[str, str]:
    """Return a protocol such as a run writes."""
    data = " ".join(str(part) for each in case.data for part in (each.name, each.corruption, each.severity) if part)
    learns = case.method in LEARNS
    return {
        "model": f"{case.model}, state {case.weights[:12]}",
        "data": f"{data}: {images:,} images, shuffled by seed {case.seed}, batches of {case.batch_size}",
        "order": f"shuffled by seed {case.seed}, the same for all methods",
        "images": f"{images:,}",
        "batch": f"{case.batch_size} images",
        "method": case.method,
        "when": case.when if case.epochs == 1 else f"{case.when}, {case.epochs} passes",
        "reset": "before the stream, never in it",
        "optimizer": "Adam" if learns else "none",
        "lr": f"{case.lr or 1e-3:g}" if learns else "none",
    }


def failure(case: Case, error: str) -> Result:
    """Return the record of a case that failed."""
    return Result(case, error=error, finished="2026-01-01T00:00:00+00:00")


def kept(folder: Path, *results: Result) -> Store:
    """Return a store of these results."""
    store = Store(folder)
    for each in results:
        store.put(each)
    return store


Number = Callable[[str, str, Case], tuple[float, float]]  # row, column, case -> error, seconds


def results_of(suite: Suite, seeds: tuple[int, ...], number: Number) -> list[Result]:
    """Return a result of every case of a suite, by the numbers of its last cell."""
    cells = {cell.case.key(): cell for cell in suite.cells(seeds, None)}
    return [result(cell.case, *number(cell.row, cell.column, cell.case)) for cell in cells.values()]


def fill(store: Store, suite: Suite, seeds: tuple[int, ...], number: Number) -> None:
    """Put a result of every case of a suite in a store."""
    for each in results_of(suite, seeds, number):
        store.put(each)
