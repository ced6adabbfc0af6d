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
    types = list(dict.fromkeys((row["original"], row["type"]) for row in numbers.rows))
    names = [str(kind) for _, kind in sorted(types, key=lambda each: not each[0])]
    shifted = [kind for original, kind in types if not original]
    groups = [*names, *([MEAN] if len(shifted) > 1 else [])]
    figure, (axis,) = panel_row(1, 2.5, title, below=1.0)
    width = 0.84 / len(methods)
    for i, (method, look) in enumerate(find_looks(methods).items()):
        errors = {row["type"]: number(row, "error") for row in numbers.rows if row["method"] == method}
        mean = numbers.summary["mean error over types"][method]
        errors[MEAN] = float("nan") if mean is None else mean
        place = np.arange(len(groups)) + (i - (len(methods) - 1) / 2) * width
        label = f"{method}, mean {100 * errors[MEAN]:.1f}%" if mean is not None else method
        heights = [100 * errors[group] for group in groups]
        axis.bar(place, heights, width, color=look.colour, hatch=look.hatch, edgecolor=INK, linewidth=0.3, label=label)
        for x, height in zip(place, heights, strict=True):
            axis.text(x, height, f"{height:.0f}", fontsize=SMALL - 1.5, ha="center", va="bottom", color=INK)
    axis.set_xticks(range(len(groups)), [group.replace("_", " ") for group in groups], rotation=40, ha="right")
    axis.set_xlim(-0.6, len(groups) - 0.4)
    name_axes(axis, "", "error (%)")
    axis.margins(y=0.16)
    add_legend(axis, ncols=len(methods), loc="upper left")
    return figure
