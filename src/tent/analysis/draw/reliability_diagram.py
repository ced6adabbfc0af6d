"""The picture of calibration: accuracy against confidence."""

from typing import Any

from tent.analysis.draw.panel_row import (
    add_legend,
    draw_line,
    line_colours,
    methods_of,
    name_axes,
    panel_row,
)
from tent.analysis.numbers import FEWEST, Numbers, number
from tent.plotting import INK


def draw_calibration(numbers: Numbers, title: str = "") -> Any:
    """Draw accuracy against confidence, and how many images have which confidence."""
    figure, axes = panel_row(2, 2.7, title, width=7.5)
    axes[0].plot([0, 100], [0, 100], color=INK, linewidth=0.8, linestyle="--", label="calibrated")
    methods = methods_of(numbers.rows)
    for method, colour in line_colours(methods).items():
        own = [row for row in numbers.rows if row["method"] == method]
        full = [row for row in own if number(row, "images") >= FEWEST]
        x, y = ([100 * number(row, name) for row in full] for name in ("confidence", "accuracy"))
        label = f"{method}: ECE {100 * numbers.summary[method]['ece']:.1f}%"
        draw_line(axes[0], method, x, y, label, among=methods)
        images = [number(row, "images") for row in own]
        heights, edges = [100 * n / sum(images) for n in images], [*(100 * number(row, "low") for row in own), 100]
        axes[1].stairs(heights, edges, color=colour, linewidth=1.6, label=method)
    axes[0].set(xlim=(0, 100), ylim=(0, 100))
    axes[1].set(xlim=(0, 100))
    add_legend(axes[0], loc="upper left")
    name_axes(axes[0], "confidence (%)", "accuracy (%)", "below the diagonal: too sure")
    name_axes(axes[1], "confidence (%)", "share of images (%)", "how sure")
    return figure
