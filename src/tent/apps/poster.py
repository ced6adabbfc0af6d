"""The demo's picture: error by type, error along the stream, and what was said of a few images."""

from pathlib import Path
from typing import Any

import numpy as np

from tent.apps.demo import BATCH, Demo
from tent.plotting import pyplot, running_mean, save

COLOURS = {"source": "#8a8a8a", "BN": "#2e86ab", "Tent": "#d1495b"}
IMAGES = 8


def draw_poster(demo: Demo, path: Path) -> None:
    """Draw what the demo found."""
    plt = pyplot()
    figure = plt.figure(figsize=(13, 7), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(3, 2.1), width_ratios=(1.6, 1))
    _draw_errors(figure.add_subplot(grid[0, 0]), demo)
    _draw_stream(figure.add_subplot(grid[0, 1]), demo)
    _draw_images(figure.add_subfigure(grid[1, :]), demo)
    save(figure, path)


def _draw_errors(axis: Any, demo: Demo) -> None:
    kinds, width = [*demo.types, "mean"], 0.8 / len(COLOURS)
    for i, (name, colour) in enumerate(COLOURS.items()):
        errors = [100 * demo.error(name, kind) for kind in demo.types] + [100 * demo.mean(name)]
        place = np.arange(len(kinds)) + (i - 1) * width
        bars = axis.bar(place, errors, width, color=colour, label=f"{name}, mean {errors[-1]:.1f}%")
        if len(kinds) < 8:
            axis.bar_label(bars, fmt="%.1f", fontsize=7, padding=1)
    axis.set_xticks(range(len(kinds)), [kind.replace("_", "\n") for kind in kinds], fontsize=8)
    axis.set_ylabel("error (%)")
    axis.legend(frameon=False)
    axis.set_title("error by type of corruption, severity 5", fontsize=10)


def _draw_stream(axis: Any, demo: Demo) -> None:
    for name, colour in COLOURS.items():
        batches = [100 * error for error in demo.by_batch(name)]
        axis.plot(range(1, len(batches) + 1), batches, color=colour, alpha=0.3, linewidth=0.8)
        axis.plot(range(1, len(batches) + 1), running_mean(batches, 4), color=colour, label=name)
    axis.set_xlabel(f"batch of {BATCH} images")
    axis.set_ylabel("error (%), mean over types")
    axis.set_ylim(bottom=0)
    axis.set_title("error along the stream", fontsize=10)


def _draw_images(figure: Any, demo: Demo) -> None:
    picked = _choose_images(demo)
    axes = figure.subplots(1, len(picked), squeeze=False)[0]
    for axis, (kind, place) in zip(axes, picked, strict=True):
        label = int(demo.labels[kind][place])
        answers = {name: int(demo.answers[name][kind][place]) for name in ("source", "Tent")}
        axis.imshow(demo.images[kind][place], interpolation="nearest")
        axis.set_xticks([])
        axis.set_yticks([])
        axis.set_title(f"{kind.replace('_', ' ')}\n{demo.class_names[label]}", fontsize=8)
        lines = [
            f"{name}: {demo.class_names[answer]} {'✓' if answer == label else '✗'}" for name, answer in answers.items()
        ]
        axis.set_xlabel("\n".join(lines), fontsize=8)


def _choose_images(demo: Demo) -> list[tuple[str, int]]:
    """Choose images in turn from the types, as they came: those that the two answer differently first, then any."""
    turns = []
    for kind in demo.types:
        differs = demo.answers["source"][kind] != demo.answers["Tent"][kind]
        turns.append([(kind, int(place)) for place in np.argsort(~differs, kind="stable")])
    return [turn[i] for i in range(IMAGES) for turn in turns][:IMAGES]
