"""The metric by severity: a line a method, of a suite whose rows name a method and a severity."""

import re
from typing import Any

from tent.bench.read.grid import Grid
from tent.bench.render.figures import style
from tent.bench.render.figures.margin import LINE, margin_width, name_points

ROW = re.compile(r"(.+), severity (\d+)")
LEFT, BELOW, LEAST, WIDEST = 0.62, 0.55, 2.4, 4.5  # inches


def rows_by_severity(grid: Grid) -> dict[str, dict[int, str]] | None:
    """Return the rows by method and severity; None if they are not named so."""
    rows: dict[str, dict[int, str]] = {}
    for match in (ROW.fullmatch(row) for row in grid.rows):
        if match is None:
            return None
        rows.setdefault(match[1], {})[int(match[2])] = match[0]
    return rows


def draw_severities(grid: Grid, width: float = 9.5, title: str = "") -> Any:
    """Draw the mean over the columns at every severity."""
    rows = rows_by_severity(grid) or {}
    names = margin_width(rows, width)
    width = min(width, LEFT + WIDEST + names)
    above, high = style.title_height(title, width - LEFT) + 0.1, max(LEAST, LINE * (len(rows) + 1))
    figure = style.new_figure(width, above + high + BELOW)
    axis = style.add_axis(figure, LEFT, above, width - LEFT - names, high)
    values = {row: value for row in grid.rows if (value := grid.display_value(row)) is not None}
    axis.set_ylim(0, 1.08 * max((mean for mean, _ in values.values()), default=1))
    ends: dict[str, tuple[float, float]] = {}
    for method, look in style.find_looks(list(rows)).items():
        points = {row: (severity, values[row][0]) for severity, row in rows[method].items() if row in values}
        axis.plot(*zip(*points.values(), strict=True) if points else ((), ()), color=look.colour, linewidth=1.6)
        for row, point in points.items():
            style.plot_point(axis, point, values[row][1], look)
        if points:
            ends[method] = max(points.values())
    axis.set_xticks(sorted({severity for own in rows.values() for severity in own}))
    axis.set_xlabel("severity", color=style.INK, fontsize=style.SMALL)
    axis.set_ylabel(f"{grid.metric.axis}, mean over types", color=style.INK, fontsize=style.TEXT)
    name_points(axis, ends, names)
    style.draw_title(figure, title, LEFT)
    return figure
