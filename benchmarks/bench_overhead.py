"""A case of the bench room, kept and all, against a plain loop over the same batches, interleaved, as a ratio."""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from tent.bench.case import Case, Data
from tent.bench.execute.build import build_adapted
from tent.bench.execute.inputs import build_stream, load_entry, pin_case
from tent.bench.schedule.plan import Job
from tent.bench.schedule.workers import attempt
from tent.bench.store import Store

BAR = 1.03


def plain(case: Case) -> float:
    """Return the error of a loop that does nothing but adapt, answer and count."""
    entry = load_entry(case.model)
    adapted, wrong, total = build_adapted(case, entry), 0, 0
    for x, y, _ in build_stream(case, case.data, entry):
        if y is None:
            raise ValueError("these images have labels")
        wrong += int((adapted(x).argmax(1) != y).sum())
        total += len(y)
    return wrong / total


def kept(case: Case, folder: Path) -> float:
    """Return the error of the same case, run, measured and kept by the bench room."""
    store = Store(folder)
    result = attempt(store, Job(case, 0, case.method, "images"), None, "")
    if result is None or result.error:
        raise ValueError(f"the case was not run: {result and result.error}")
    store.path(case).unlink()  # or it would be there the next time
    error: float = result.metrics["error"]
    return error


def seconds(case: Case, folder: Path, repeats: int) -> tuple[list[float], list[float]]:
    """Return the seconds of the loop and of the room, each first in its turn; both must see the same error."""
    times: dict[str, list[float]] = {"plain": [], "kept": []}
    for i in range(repeats + 1):
        errors = {}
        for name in ("plain", "kept") if i % 2 else ("kept", "plain"):
            start = time.perf_counter()
            errors[name] = plain(case) if name == "plain" else kept(case, folder)
            if i:  # the first is warm-up, and measures the step's memory
                times[name].append(time.perf_counter() - start)
        if errors["plain"] != errors["kept"]:
            raise ValueError(f"the loop and the room disagree: {errors}")
    return times["plain"], times["kept"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--images", type=int, default=2_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, generator = Path(place), np.random.default_rng(0)
        np.save(folder / "images.npy", generator.integers(0, 256, (given.images, 32, 32, 3), dtype=np.uint8))
        np.save(folder / "labels.npy", generator.integers(0, 10, given.images))
        data = Data(f"npy:{folder / 'images.npy'},{folder / 'labels.npy'}")
        print(f"{given.images:,} images, {given.repeats} repeats, {torch.get_num_threads()} threads; medians")
        print(f"{'':10}{'plain':>10}{'kept':>10}{'ratio':>8}   bar {BAR}")
        for method in ("source", "tent"):
            case = pin_case(Case("r26-cifar10", (data,), method))
            loop, room = (statistics.median(part) for part in seconds(case, folder / "results", given.repeats))
            print(f"{method:10}{loop:9.3f}s{room:9.3f}s{room / loop:8.3f}")


if __name__ == "__main__":
    main()
