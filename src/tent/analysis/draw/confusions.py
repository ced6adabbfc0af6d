"""The picture of confusion that moves: where answers went, and the largest changes."""

from typing import Any

import numpy as np

from tent.analysis.draw.panel_row import name_axes, panel_row
from tent.analysis.numbers import Numbers, number
from tent.plotting import INK, SMALL, TEXT

NAMED, LARGEST = 20, 12  # classes that are named on an axis; changes that are listed


def draw_confusion(numbers: Numbers, title: str = "") -> Any:
    """Draw the change from the first method to the last, in points of each class's images."""
    names, methods = numbers.summary["classes"], numbers.summary["methods"]
    before, after = methods[0], methods[-1]
    change = _changes(numbers, before, after)
    figure, (left, right) = panel_row(2, 3.2, title, below=0.95)
    place = left.get_position()
    left.set_position((place.x0 + 0.05, place.y0, place.width - 0.07, place.height))
    most = max(float(np.abs(change).max()), 1e-9)
    image = left.imshow(change, cmap="PuOr", vmin=-most, vmax=most, aspect="auto", interpolation="nearest")
    left.grid(False)
    if len(names) <= NAMED:
        left.set_xticks(range(len(names)), names, rotation=60, ha="right")
        left.set_yticks(range(len(names)), names)
    name_axes(left, "answer", "class", f"{before} → {after}, points of a class; purple: more")
    bar = figure.colorbar(image, ax=left, fraction=0.04, pad=0.02)
    bar.ax.tick_params(labelsize=SMALL, colors=INK)
    _draw_largest(right, change, names)
    return figure


def _changes(numbers: Numbers, before: str, after: str) -> Any:
    names = numbers.summary["classes"]
    places = {name: i for i, name in enumerate(names)}
    change, totals = np.zeros((len(names), len(names))), np.zeros(len(names))
    for row in numbers.rows:
        i, j = places[str(row["class"])], places[str(row["answer"])]
        change[i, j] = number(row, after) - number(row, before)
        totals[i] += number(row, before)
    return 100 * change / np.maximum(totals, 1)[:, None]


def _draw_largest(axis: Any, change: Any, names: list[str]) -> None:
    off = change.copy()
    np.fill_diagonal(off, 0)
    order = np.argsort(-np.abs(off), axis=None, kind="stable")[:LARGEST]
    pairs = [divmod(int(place), len(names)) for place in order if off.flat[place]]
    values = [off[pair] for pair in pairs]
    colours = ["#b35806" if value < 0 else "#542788" for value in values]
    axis.barh(range(len(pairs)), values, color=colours)
    axis.set_yticks(range(len(pairs)), [f"{names[i]} → {names[j]}" for i, j in pairs], fontsize=SMALL)
    axis.invert_yaxis()
    axis.axvline(0, color=INK, linewidth=0.8)
    axis.grid(axis="x", color=INK, alpha=0.15, linewidth=0.6)
    axis.grid(False, axis="y")
    name_axes(axis, "points of the class", "", "mistakes that changed most; left: fewer")
    place = axis.get_position()
    axis.set_position((place.x0 + 0.1, place.y0, place.width - 0.1, place.height))
    axis.title.set_fontsize(TEXT)
