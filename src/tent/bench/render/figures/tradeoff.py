"""The metric against compute: what a row's answers cost, in seconds for 1,000 images, and what they are worth."""

import math
from typing import Any

from tent.bench.paper import MEAN
from tent.bench.read.compute import cost
from tent.bench.read.grid import Grid, display_name
from tent.bench.render.figures import style
from tent.bench.render.figures.margin import LINE, margin_width, name_points

LEFT, ABOVE, BELOW, LEAST, WIDEST = 0.62, 0.3, 0.55, 1.9, 4.5  # inches
STEPS = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 4, 5, 6, 7, 8.5))


def draw_tradeoff(grid: Grid, width: float = 9.5, title: str = "") -> Any:
    """Draw the mean against seconds, on a logarithmic axis; a panel a column where a mean says nothing."""
    groups = list(grid.means) or list(grid.columns)
    names = margin_width(grid.rows, width)
    across = max(1, min(len(groups), int(width / (LEFT + names + 1.7))))
    down, each = math.ceil(len(groups) / across), min(width / across, LEFT + names + WIDEST)
    width = across * each
    above, high = style.title_height(title, width - LEFT), max(LEAST, LINE * (len(grid.rows) + 1))
    figure = style.new_figure(width, above + down * (ABOVE + high + BELOW))
    for i, group in enumerate(groups):
        left, top = (i % across) * each, above + (i // across) * (ABOVE + high + BELOW) + ABOVE
        axis = style.add_axis(figure, left + LEFT, top, each - LEFT - names, high)
        _panel(axis, grid, group, names)
    style.draw_title(figure, title, LEFT)
    return figure


def _panel(axis: Any, grid: Grid, group: str, room: float) -> None:
    points: dict[str, tuple[float, float]] = {}
    top = 0.0
    for row, look in style.find_looks(grid.rows).items():
        value, spent = grid.display_value(row, group), cost(grid, row, grid.means.get(group, (group,)))
        if value is None or spent is None:
            continue
        points[row] = (1000 * (spent.training + spent.answering), value[0])
        top = max(top, sum(value))
        style.plot_point(axis, points[row], value[1], look, size=7)
    title = "mean over the columns" if group == MEAN else display_name(group)
    axis.set_title(title, fontsize=style.SMALL, color=style.INK, loc="left")
    if not points:
        axis.set(xticks=[], yticks=[])
        axis.text(0.5, 0.5, "missing or failed", ha="center", fontsize=style.SMALL, color=style.INK)
        return
    axis.set_xscale("log")
    axis.set_ylim(0, top * 1.12 or 1)
    axis.set_xlabel("seconds for 1,000 images", color=style.INK, fontsize=style.SMALL)
    axis.set_ylabel(grid.metric.axis, color=style.INK, fontsize=style.TEXT)
    _ticks(axis, [seconds for seconds, _ in points.values()])
    name_points(axis, points, room)


def _ticks(axis: Any, seconds: list[float]) -> None:
    """Mark the powers of ten, and as many steps between them as give three marks, as plain numbers."""
    from matplotlib.ticker import NullLocator

    low, high = min(seconds) / 1.4, max(seconds) * 1.4
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks: list[float] = []
    for steps in STEPS:
        marks = [step * 10.0**exponent for exponent in exponents for step in steps]
        marks = [mark for mark in marks if low <= mark <= high]
        if len(marks) > 2:
            break
    axis.set_xlim(low, high)
    axis.set_xticks(marks, [f"{mark:g}" for mark in marks])
    axis.xaxis.set_minor_locator(NullLocator())
