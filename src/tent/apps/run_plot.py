"""The picture of a run: entropy (and error) along the stream, and how often each class was answered."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tent.apps.record import Record
from tent.files import atomic_write

BEFORE, AFTER = "#8a8a8a", "#d1495b"


def pyplot() -> Any:
    """Return matplotlib's pyplot, drawing to files alone, or say how to get it."""
    try:
        import matplotlib
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError("plots need matplotlib: pip install 'tent-tta[bench]'") from missing
    matplotlib.use("agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


def plot(record: Record, title: str, path: Path) -> None:
    """Draw a run."""
    plt = pyplot()
    before, after = record.errors(record.before), record.errors(record.after)
    figure, axes = plt.subplots(1, 3 if before else 2, figsize=(13 if before else 9, 3.4), layout="constrained")
    first, second = ([float(e.mean()) for e in part.entropies] for part in (record.before, record.after))
    _along(axes[0], first, second, "mean entropy (nats)")
    if before and after:
        _along(axes[1], [100 * error for error in before], [100 * error for error in after], "error (%)")
    _classes(axes[-1], record)
    axes[0].legend(frameon=False)
    figure.suptitle(title, fontsize=10)
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write a figure beside and rename it, and let it go."""
    with atomic_write(path) as beside:
        figure.savefig(beside, dpi=130, format=path.suffix[1:] or "png")
    pyplot().close(figure)


def smoothed(values: Sequence[float], window: int) -> list[float]:
    """Return the running mean over the last values, as many as the window or as there are."""
    return [float(np.mean(values[max(0, i + 1 - window) : i + 1])) for i in range(len(values))]


def _along(axis: Any, before: Sequence[float], after: Sequence[float], label: str) -> None:
    for values, name, colour in ((before, "source", BEFORE), (after, "adapted", AFTER)):
        axis.plot(values, color=colour, alpha=0.3, linewidth=0.8)
        axis.plot(smoothed(values, max(1, len(values) // 10)), color=colour, label=name)
    axis.set_xlabel("batch")
    axis.set_ylabel(label)
    axis.set_ylim(bottom=0)


def _classes(axis: Any, record: Record) -> None:
    names = record.class_names
    before, after = (
        np.bincount(np.concatenate(part.classes), minlength=len(names)) for part in (record.before, record.after)
    )
    shown = np.sort(np.argsort(-(before + after), kind="stable")[:20])  # the twenty that were answered most
    place = np.arange(len(shown))
    axis.bar(place - 0.2, before[shown], 0.4, color=BEFORE)
    axis.bar(place + 0.2, after[shown], 0.4, color=AFTER)
    axis.set_xticks(place, [names[i][:12] for i in shown], rotation=90, fontsize=7)
    axis.set_ylabel("images answered so")
