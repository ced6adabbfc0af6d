"""The metric against compute: what a row's answers cost, in seconds for 1,000 images, and what they are worth."""

import math
from typing import Any

from tent.bench.paper import MEAN
from tent.bench.read.compute import cost
from tent.bench.read.grid import Grid, display_name
from tent.bench.render.figures import style
from tent.bench.render.figures.placement import write_names

LEFT, RIGHT, ABOVE, BELOW, HIGH, LEAST, WIDEST = 0.62, 0.12, 0.3, 0.55, 2.6, 2.6, 5.2  # inches
STEPS = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 4, 5, 6, 7, 8.5))


def draw_tradeoff(grid: Grid, width: float = 9.5, title: str = "") -> Any:
    """Draw the mean against seconds, on a logarithmic axis; a panel a column where a mean says nothing."""
    groups = list(grid.means) or list(grid.columns)
    across = max(1, min(len(groups), int(width / (LEFT + RIGHT + LEAST))))
    down, each = math.ceil(len(groups) / across), min(width / across, LEFT + RIGHT + WIDEST)
    width = across * each
    above = style.title_height(title, width - LEFT)
    figure = style.new_figure(width, above + down * (ABOVE + HIGH + BELOW))
    for i, group in enumerate(groups):
        left, top = (i % across) * each, above + (i // across) * (ABOVE + HIGH + BELOW) + ABOVE
        _panel(style.add_axis(figure, left + LEFT, top, each - LEFT - RIGHT, HIGH), grid, group)
    style.draw_title(figure, title, LEFT)
    return figure


def _panel(axis: Any, grid: Grid, group: str) -> None:
    points: dict[str, tuple[float, float]] = {}
    ends, spreads = [], []
    for row, look in style.find_looks(grid.rows).items():
        value, spent = grid.display_value(row, group), cost(grid, row, grid.means.get(group, (group,)))
        if value is None or spent is None:
            continue
        points[row] = (1000 * (spent.training + spent.answering), value[0])
        ends += [value[0] - value[1], value[0] + value[1]]
        spreads.append(value[1])
        style.plot_point(axis, points[row], value[1], look, size=7)
    title = f"mean over {len(grid.means[MEAN])} columns" if group == MEAN else display_name(group)
    axis.set_title(title, fontsize=style.SMALL, color=style.INK, loc="left")
    if not points:
        axis.set(xticks=[], yticks=[])
        axis.text(0.5, 0.5, "missing or failed", ha="center", fontsize=style.SMALL, color=style.INK)
        return
    axis.set_xscale("log")
    room = 0.12 * (max(ends) - min(ends)) or 0.1 * max(ends) or 1  # points need no zero below them
    axis.set_ylim(min(ends) - room, max(ends) + room)
    axis.set_xlabel("seconds for 1,000 images", color=style.INK, fontsize=style.SMALL)
    axis.set_ylabel(grid.metric.axis, color=style.INK, fontsize=style.TEXT)
    _ticks(axis, [seconds for seconds, _ in points.values()])
    write_names(axis, points, spreads)


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
