"""The picture of a run: entropy (and error) along the stream, and how often each class was answered."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tent.apps.record import Record
from tent.plotting import pyplot, running_mean, save

BEFORE, AFTER = "#8a8a8a", "#d1495b"
CLASSES = 20  # those that were answered most


def draw_run(record: Record, title: str, path: Path) -> None:
    """Draw a run."""
    plt = pyplot()
    before, after = record.errors(record.before), record.errors(record.after)
    figure, axes = plt.subplots(1, 3 if before else 2, figsize=(13 if before else 9, 3.4), layout="constrained")
    _draw_curves(axes[0], record.entropies(record.before), record.entropies(record.after), "mean entropy (nats)")
    if before and after:
        _draw_curves(axes[1], [100 * error for error in before], [100 * error for error in after], "error (%)")
    _draw_classes(axes[-1], record)
    axes[0].legend(frameon=False)
    figure.suptitle(title, fontsize=10)
    save(figure, path)


def _draw_curves(axis: Any, before: Sequence[float], after: Sequence[float], label: str) -> None:
    for values, name, colour in ((before, "source", BEFORE), (after, "adapted", AFTER)):
        axis.plot(values, color=colour, alpha=0.3, linewidth=0.8)
        axis.plot(running_mean(values, max(1, len(values) // 10)), color=colour, label=name)
    axis.set_xlabel("batch")
    axis.set_ylabel(label)
    axis.set_ylim(bottom=0)


def _draw_classes(axis: Any, record: Record) -> None:
    names = record.class_names
    before, after = (np.array(list(record.histogram(part).values())) for part in (record.before, record.after))
    most = np.sort(np.argsort(-(before + after), kind="stable")[:CLASSES])
    place = np.arange(len(most))
    axis.bar(place - 0.2, before[most], 0.4, color=BEFORE)
    axis.bar(place + 0.2, after[most], 0.4, color=AFTER)
    axis.set_xticks(place, [names[i][:12] for i in most], rotation=90, fontsize=7)
    axis.set_ylabel(f"{record.counted} answered so")
