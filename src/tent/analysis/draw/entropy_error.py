"""The picture of error by entropy: Figure 1, with the images in each bin."""

from typing import Any

from tent.analysis.collectors.entropy_bins import COUNT, WIDTH
from tent.analysis.draw.panel_row import (
    add_legend,
    draw_line,
    line_colours,
    methods_of,
    name_axes,
    name_counts,
    panel_row,
)
from tent.analysis.numbers import FEWEST, Numbers, number


def draw_error_by_entropy(numbers: Numbers, title: str = "") -> Any:
    """Draw error against entropy in bins of equal count and of equal width, and the images of the latter."""
    figure, axes = panel_row(3, 2.6, title)
    kinds = {COUNT: "bins of equal count", WIDTH: "bins of equal width"}
    rows = [row for row in numbers.rows if number(row, "images") >= FEWEST]
    methods = methods_of(numbers.rows)
    for axis, (kind, name) in zip(axes, kinds.items(), strict=False):
        for method in methods_of(rows):
            own = [row for row in rows if row["method"] == method and row["bins"] == kind]
            x, y = [row["entropy"] for row in own], [100 * number(row, "error") for row in own]
            draw_line(axis, method, x, y, among=methods)
        axis.set_ylim(0, 100)
        axis.set_xlim(left=0)
        name_axes(axis, "entropy of the prediction (nats)", "error (%)", name)
    add_legend(axes[0], loc="lower right")
    _draw_counts(axes[2], numbers)
    return figure


def _draw_counts(axis: Any, numbers: Numbers) -> None:
    rows = [row for row in numbers.rows if row["bins"] == WIDTH]
    for method, colour in line_colours(methods_of(rows)).items():
        own = [row for row in rows if row["method"] == method]
        edges = [*(row["low"] for row in own), own[-1]["high"]]
        axis.stairs([row["images"] for row in own], edges, color=colour, linewidth=1.6, label=method)
    axis.set_yscale("log")
    name_counts(axis.yaxis, max(number(row, "images") for row in rows))
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0.8)
    name_axes(axis, "entropy of the prediction (nats)", "images", "images in bins of equal width")
