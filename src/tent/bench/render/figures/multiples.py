"""The metric as small multiples: a panel a column, and in each a bar a row of the table, on one scale."""

import math
from typing import Any

from tent.bench.read.grid import Grid, display_name
from tent.bench.render.figures import style

LINE, ABOVE, BELOW, GAP, RIGHT, KEY = 0.16, 0.28, 0.14, 0.14, 0.1, 0.24  # inches
LEAST, WIDEST, NUMBER = 1.05, 2.6, 0.34  # inches, of a panel, and of the number at a bar's end
OURS = "Tent"  # whose rows, with their variants, stand out


def draw_multiples(grid: Grid, width: float = 9.5, title: str = "") -> Any:
    """Draw every row in every column, its spread over seeds, and the paper's number where there is one."""
    groups = list(grid.titles)
    names = min(max(len(display_name(row)) for row in grid.rows) * style.LETTER + 0.12, 0.45 * width)
    room = width - names - RIGHT + GAP
    down = math.ceil(len(groups) / max(1, int(room / (LEAST + GAP))))
    across = math.ceil(len(groups) / down)
    each = min(WIDEST, room / across - GAP)
    width = names + across * (each + GAP) - GAP + RIGHT
    above, high = style.title_height(title, width - 0.1) + KEY, LINE * len(grid.rows)
    figure = style.new_figure(width, above + down * (ABOVE + high + BELOW))
    top = (max(reach(grid, row, group) for row in grid.rows for group in groups) or 1.0) / (1 - NUMBER / each)
    for i, group in enumerate(groups):
        left, under = names + i % across * (each + GAP), above + i // across * (ABOVE + high + BELOW) + ABOVE
        axis = style.add_axis(figure, left, under, each, high)
        _draw_panel(axis, grid, group)
        axis.set_xlim(0, top)
        axis.set_title(style.shorten(group, each + 0.1), fontsize=style.SMALL, color=style.INK, loc="left", pad=3)
        labels = [style.shorten(row, names - 0.1) if i % across == 0 else "" for row in grid.rows]
        axis.set_yticks(range(len(grid.rows)), labels)
    _write_key(figure, grid, above)
    style.draw_title(figure, title, 0.1)
    return figure


def reach(grid: Grid, row: str, group: str) -> float:
    """Return how far a row's marks go in a column: its mean with its spread, or the paper's number."""
    return max(sum(grid.display_value(row, group) or (0.0,)), grid.paper(row, group) or 0.0)


def describe_gap(grid: Grid, row: str, group: str) -> str:
    """Return why a number is not there."""
    entry = grid.entries.get((row, group))
    return "failed" if entry and entry.failures else "missing"


def _draw_panel(axis: Any, grid: Grid, group: str) -> None:
    for place, row in enumerate(grid.rows):
        value, paper = grid.display_value(row, group), grid.paper(row, group)
        if value is not None:
            axis.barh(place, value[0], 0.66, color=_colour(grid, row), edgecolor=style.INK, linewidth=0.4)
            if value[1]:
                axis.errorbar(value[0], place, xerr=value[1], color=style.INK, linewidth=0.9)
        if paper is not None:
            axis.plot(paper, place, "D", markersize=3.6, markerfacecolor=style.GROUND, markeredgecolor=style.INK)
        if value is not None or grid.group(row, group):
            text = f"{value[0]:.1f}" if value is not None else describe_gap(grid, row, group)
            at = (reach(grid, row, group), place)
            axis.annotate(text, at, (4, 0), textcoords="offset points", va="center", fontsize=6.5, color=style.INK)
    axis.set_ylim(len(grid.rows) - 0.4, -0.6)
    axis.tick_params(axis="both", length=0)
    axis.set_xticks([])
    axis.grid(visible=False)
    axis.spines["bottom"].set_visible(False)


def _colour(grid: Grid, row: str) -> str:
    """Return the colour of a row's bars: it need not tell rows apart, which their names do."""
    if any(entry.uses_labels for entry in grid.row(row)):
        return style.GROUND
    return style.KNOWN["Tent"].colour if row.startswith(OURS) else style.PLAIN.colour


def _write_key(figure: Any, grid: Grid, above: float) -> None:
    """Say under the title what is drawn."""
    width, height = figure.get_size_inches()
    said = [grid.metric.axis]
    if any(grid.paper(row, group) is not None for row in grid.rows for group in grid.titles):
        said.append("diamond: the paper")
    if any(entry.uses_labels for entry in grid.entries.values()):
        said.append("white: uses labels")
    text = figure.text(0.1 / width, 1 - (above - 0.04) / height, "; ".join(said), fontsize=style.SMALL)
    text.set(color=style.INK, va="bottom")
