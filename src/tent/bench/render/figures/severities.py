"""Error by severity: a line a method, of a suite whose rows name a method and a severity."""

import re
from typing import Any

from tent.bench.read.grid import Figure, Grid
from tent.bench.render.figures.margin import LINE, beside, name_points
from tent.bench.render.figures.style import INK, SMALL, TEXT, Look, box, canvas, heading, heading_height, looks

ROW = re.compile(r"(.+), severity (\d+)")
LEFT, BELOW, LEAST, WIDEST = 0.62, 0.55, 2.4, 4.5  # inches


def by_severity(grid: Grid) -> dict[str, dict[int, str]] | None:
    """Return the rows by method and severity; None if they are not named so."""
    named = [ROW.fullmatch(row) for row in grid.rows]
    found: dict[str, dict[int, str]] = {}
    for match in named:
        if match is None:
            return None
        found.setdefault(match[1], {})[int(match[2])] = match[0]
    return found


def severities(grid: Grid, width: float = 9.5, title: str = "") -> Any:
    """Draw the mean error over the columns at every severity."""
    rows = by_severity(grid) or {}
    names = beside(rows, width)
    width = min(width, LEFT + WIDEST + names)
    above, high = heading_height(title, width - LEFT) + 0.1, max(LEAST, LINE * (len(rows) + 1))
    drawn = canvas(width, above + high + BELOW)
    axis = box(drawn, LEFT, above, width - LEFT - names, high)
    means = {row: grid.row_mean(row) for row in grid.rows}
    top = max((100 * found.mean for found in means.values() if found is not None), default=1)
    axis.set_ylim(0, 1.08 * top)
    ends: dict[str, tuple[float, float]] = {}
    for method, own in rows.items():
        line = {severity: found for severity, row in own.items() if (found := means[row]) is not None}
        if line:
            _line(axis, line, looks(list(rows))[method])
            ends[method] = (max(line), 100 * line[max(line)].mean)
    axis.set_xticks(sorted({severity for own in rows.values() for severity in own}))
    axis.set_xlabel("severity", color=INK, fontsize=SMALL)
    axis.set_ylabel("error (%), mean over types", color=INK, fontsize=TEXT)
    name_points(axis, ends, names)
    heading(drawn, title, LEFT)
    return drawn


def _line(axis: Any, line: dict[int, Figure], look: Look) -> None:
    places, values = list(line), [100 * found.mean for found in line.values()]
    spreads = [100 * (found.spread or 0) for found in line.values()]
    axis.plot(places, values, color=look.colour, linewidth=1.6)
    if any(spreads):
        axis.errorbar(places, values, spreads, color=INK, linestyle="", capsize=2, linewidth=0.8)
    axis.plot(places, values, look.mark, color=look.colour, markeredgecolor=INK, markersize=6)
