"""The metric along a stream: a line a method, of a suite whose rows are one stream each."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tent.bench.read.grid import Entry, Grid
from tent.bench.render.figures import style
from tent.bench.render.figures.margin import LINE, margin_width, name_points
from tent.plotting import running_mean

LEFT, BELOW, LEAST, WIDEST = 0.62, 0.55, 2.6, 6.5  # inches


def is_one_stream(grid: Grid) -> bool:
    """Tell whether the columns of a row are the domains of one stream."""
    return len(grid.columns) > 1 and all(entry.domain for entry in grid.entries.values())


def draw_stream(grid: Grid, width: float = 9.5, title: str = "") -> Any:
    """Draw the mean over seeds along the stream, each point over as many batches as a domain has."""
    lines = {row: line for row in grid.rows if len(line := _line(grid, row))}
    names = margin_width(lines, width)
    width = min(width, LEFT + WIDEST + names)
    above, high = style.title_height(title, width - LEFT) + 0.1, max(LEAST, LINE * (len(lines) + 1))
    figure = style.new_figure(width, above + high + BELOW)
    axis = style.add_axis(figure, LEFT, above, width - LEFT - names, high)
    axis.set_ylim(0, 1.08 * max((float(line.max()) for line in lines.values()), default=1.0))
    for row, look in style.find_looks(list(lines)).items():
        axis.plot(np.arange(1, len(lines[row]) + 1), lines[row], color=look.colour, linewidth=1.4)
    axis.set_xlabel("batches", color=style.INK, fontsize=style.SMALL)
    axis.set_ylabel(f"{grid.metric.axis}, over a domain's batches", color=style.INK, fontsize=style.TEXT)
    name_points(axis, {row: (float(len(line)), float(line[-1])) for row, line in lines.items()}, names)
    style.draw_title(figure, title, LEFT)
    return figure


def _line(grid: Grid, row: str) -> Any:
    entry = next(entry for (own, _), entry in grid.entries.items() if own == row)
    batches = _batches(entry, grid.metric.name)
    if not batches:
        return np.zeros(0)
    mean = np.mean([values[: min(map(len, batches))] for values in batches], axis=0)
    window = max(1, len(mean) // len(entry.case.data))
    return np.array([grid.metric.scale(value) for value in running_mean(mean.tolist(), window)])


def _batches(entry: Entry, metric: str) -> list[Sequence[float]]:
    found = [result.by_batch.get(metric, []) for result in entry.successes.values()]
    return [[np.nan if value is None else value for value in values] for values in found if values]
