"""The metric by column as grouped bars, a bar a row of the table, wrapped into panels that fit the width."""

import math
import textwrap
from typing import Any

from tent.bench.read.grid import Grid, display_name
from tent.bench.render.figures import style
from tent.bench.render.figures.multiples import describe_gap, reach
from tent.plotting import pyplot

BAR, WIDEST = 0.11, 0.45  # inches, of a bar, at least and at most
LEFT, RIGHT, BELOW, LINE, KEY = 0.62, 0.12, 0.5, 0.175, 0.38  # inches
EDGE: Any = {"edgecolor": style.INK, "linewidth": 0.5}
LEAST = 5.5  # inches, of a figure: its title and legend need room too


def draw_bars(grid: Grid, width: float = 9.5, title: str = "") -> Any:
    """Draw every row in every column, its spread over seeds, and the paper's number where there is one."""
    groups = list(grid.titles)
    label = max(len(line) for group in groups for line in _label(group).split("\n")) * style.LETTER + 0.1
    least, most = (max(len(grid.rows) * bar / 0.84, label) for bar in (BAR, WIDEST))
    panels = math.ceil(len(groups) / max(1, int((width - LEFT - RIGHT) / least)))
    each = math.ceil(len(groups) / panels)
    width = min(width, max(LEAST, LEFT + RIGHT + each * most))
    above, high = style.title_height(title, width - LEFT), 1.7 if width > 5 else 1.25
    legend = math.ceil(len(_handles(grid, width)) / _columns(grid, width)) * LINE + 0.1
    figure = style.new_figure(width, above + legend + panels * (high + BELOW))
    top = max(reach(grid, row, group) for row in grid.rows for group in groups) * 1.06 or 1.0
    for i in range(panels):
        axis = style.add_axis(figure, LEFT, above + legend + i * (high + BELOW), width - LEFT - RIGHT, high)
        own = groups[i * each : (i + 1) * each]
        _panel(axis, grid, own)
        axis.set_xlim(-0.5, each - 0.5)
        axis.set_ylim(0, top)
        axis.set_xticks(range(len(own)), [_label(group) for group in own])
    _legend(figure, grid, above)
    style.draw_title(figure, title, LEFT)
    return figure


def _panel(axis: Any, grid: Grid, groups: list[str]) -> None:
    axis.tick_params(axis="x", length=0)
    axis.set_ylabel(grid.metric.axis, color=style.INK, fontsize=style.TEXT)
    wide = 0.84 / len(grid.rows)
    for i, (row, look) in enumerate(style.find_looks(grid.rows).items()):
        for place, group in enumerate(groups):
            at = place + (i - (len(grid.rows) - 1) / 2) * wide
            value, paper = grid.display_value(row, group), grid.paper(row, group)
            if value is not None:
                _bar(axis, at, wide, value, look)
            elif grid.group(row, group):
                axis.text(
                    at, 0, f" {describe_gap(grid, row, group)}", rotation=90, fontsize=6, ha="center", color=style.INK
                )
            if paper is not None:
                axis.plot(at, paper, "D", markersize=4.5, markerfacecolor=style.GROUND, markeredgecolor=style.INK)


def _bar(axis: Any, at: float, wide: float, value: tuple[float, float], look: style.Look) -> None:
    mean, spread = value
    axis.bar(at, mean, wide, color=look.colour, hatch=look.hatch, **EDGE)
    if spread:
        axis.errorbar(at, mean, spread, color=style.INK, capsize=1.6, linewidth=0.8)


def _handles(grid: Grid, width: float) -> list[Any]:
    pyplot()  # says how to get it
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    room = width - LEFT - RIGHT - KEY
    handles: list[Any] = [
        Patch(label=style.shorten(row, room), facecolor=look.colour, hatch=look.hatch, **EDGE)
        for row, look in style.find_looks(grid.rows).items()
    ]
    if any(grid.paper(row, group) is not None for row in grid.rows for group in grid.titles):
        mark: Any = {"marker": "D", "markersize": 4.5, "markerfacecolor": style.GROUND, "markeredgecolor": style.INK}
        handles.append(Line2D([], [], linestyle="", label="the paper", **mark))
    return handles


def _legend(figure: Any, grid: Grid, above: float) -> None:
    width, height = figure.get_size_inches()
    figure.legend(
        handles=_handles(grid, width),
        loc="upper left",
        bbox_to_anchor=(LEFT / width, 1 - above / height),
        ncols=_columns(grid, width),
        frameon=False,
        fontsize=style.SMALL,
        labelcolor=style.INK,
        borderpad=0,
        borderaxespad=0,
        handlelength=1.6,
        columnspacing=1.2,
    )


def _columns(grid: Grid, width: float) -> int:
    longest = max(len(row) for row in (*grid.rows, "the paper"))
    return max(1, int((width - LEFT - RIGHT + 0.1) / (longest * style.LETTER + KEY)))


def _label(group: str) -> str:
    words = [style.shorten(word, 1.2) for word in display_name(group).split()]
    return "\n".join(textwrap.wrap(" ".join(words), max(map(len, words), default=1), break_on_hyphens=False))
