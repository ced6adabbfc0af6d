"""The picture of error by type, mean over levels, with the original data (Figure 5)."""

from typing import Any

import numpy as np

from tent.analysis.draw.panel_row import add_legend, methods_of, name_axes, panel_row
from tent.analysis.numbers import Numbers, number
from tent.plotting import INK, SMALL, find_looks

MEAN = "mean of types"


def draw_error_by_type(numbers: Numbers, title: str = "") -> Any:
    """Draw a group of bars for each type, the original data and the mean."""
    methods = methods_of(numbers.rows)
    kinds = dict.fromkeys((str(row["type"]), bool(row["original"])) for row in numbers.rows)
    groups = sorted(kinds, key=lambda each: not each[1])  # the original data first
    mean_of_all = [(MEAN, False)] if sum(not original for _, original in groups) > 1 else []
    names = [kind.replace("_", " ") for kind, _ in (*groups, *mean_of_all)]
    figure, (axis,) = panel_row(1, 2.5, title, below=1.0)
    width = 0.84 / len(methods)
    for i, (method, look) in enumerate(find_looks(methods).items()):
        own = [row for row in numbers.rows if row["method"] == method]
        errors = {(str(row["type"]), bool(row["original"])): number(row, "error") for row in own}
        mean = numbers.summary["mean error over types"][method]
        place = np.arange(len(names)) + (i - (len(methods) - 1) / 2) * width
        label = f"{method}, mean {100 * mean:.1f}%" if mean is not None else method
        heights = [100 * error for error in (*(errors[group] for group in groups), *(mean for _ in mean_of_all))]
        axis.bar(place, heights, width, color=look.colour, hatch=look.hatch, edgecolor=INK, linewidth=0.3, label=label)
        for x, height in zip(place, heights, strict=True):
            axis.text(x, height, f"{height:.0f}", fontsize=SMALL - 1.5, ha="center", va="bottom", color=INK)
    axis.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axis.set_xlim(-0.6, len(names) - 0.4)
    name_axes(axis, "", "error (%)")
    axis.margins(y=0.16)
    add_legend(axis, ncols=len(methods), loc="upper left")
    return figure
