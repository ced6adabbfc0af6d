"""Error by column as grouped bars, a bar a row of the table, wrapped into panels that fit the width."""

import math
import textwrap
from typing import Any

from tent.bench.paper import MEAN
from tent.bench.read.grid import Figure, Grid
from tent.bench.read.terms import shown
from tent.bench.render.figures.style import (
    GROUND,
    INK,
    LETTER,
    SMALL,
    TEXT,
    Look,
    box,
    canvas,
    clipped,
    heading,
    heading_height,
    looks,
)

BAR, WIDEST = 0.11, 0.45  # inches, of a bar, at least and at most
LEFT, RIGHT, BELOW, LINE, KEY = 0.62, 0.12, 0.5, 0.175, 0.38  # inches
LEAST = 5.5  # inches, of a figure: its title and legend need room too


def bars(grid: Grid, width: float = 9.5, title: str = "") -> Any:
    """Draw the error of every row in every column, its spread over seeds, and the paper's figure where there is one."""
    groups = [*grid.columns, *grid.means]
    longest = max(len(line) for group in groups for line in _label(group).split("\n"))
    least = max(len(grid.rows) * BAR / 0.84, longest * LETTER + 0.1)
    panels = math.ceil(len(groups) / max(1, int((width - LEFT - RIGHT) / least)))
    each = math.ceil(len(groups) / panels)
    width = min(width, max(LEAST, LEFT + RIGHT + each * max(len(grid.rows) * WIDEST / 0.84, longest * LETTER + 0.1)))
    above, high = heading_height(title, width - LEFT), 1.7 if width > 5 else 1.25
    legend = math.ceil(len(_handles(grid, width)) / _columns(grid, width)) * LINE + 0.1
    drawn = canvas(width, above + legend + panels * (high + BELOW))
    top = max(_reach(grid, row, group) for row in grid.rows for group in groups) * 1.06 or 1.0
    for i in range(panels):
        axis = box(drawn, LEFT, above + legend + i * (high + BELOW), width - LEFT - RIGHT, high)
        own = groups[i * each : (i + 1) * each]
        _panel(axis, grid, own)
        axis.set_xlim(-0.5, each - 0.5)
        axis.set_ylim(0, top)
        axis.set_xticks(range(len(own)), [_label(group) for group in own])
    _legend(drawn, grid, above)
    heading(drawn, title, LEFT)
    return drawn


def value(grid: Grid, row: str, group: str) -> Figure | None:
    """Return the figure of a row in a column, or its mean over the columns."""
    if group in grid.means:
        return grid.row_mean(row, group)
    entry = grid.entries.get((row, group))
    return entry.figure() if entry else None


def _panel(axis: Any, grid: Grid, groups: list[str]) -> None:
    axis.tick_params(axis="x", length=0)
    axis.set_ylabel("error (%)", color=INK, fontsize=TEXT)
    wide = 0.84 / len(grid.rows)
    for i, (row, look) in enumerate(looks(grid.rows).items()):
        for place, group in enumerate(groups):
            at = place + (i - (len(grid.rows) - 1) / 2) * wide
            found, paper = value(grid, row, group), grid.paper(row, group)
            if found is not None:
                _bar(axis, at, wide, found, look)
            elif grid.group(row, group):
                axis.text(at, 0, f" {_gap(grid, row, group)}", rotation=90, fontsize=6, ha="center", color=INK)
            if paper is not None:
                axis.plot(at, paper, "D", markersize=4.5, markerfacecolor=GROUND, markeredgecolor=INK)


def _bar(axis: Any, at: float, wide: float, found: Figure, look: Look) -> None:
    axis.bar(at, 100 * found.mean, wide, color=look.colour, hatch=look.hatch, edgecolor=INK, linewidth=0.5)
    if found.spread:
        axis.errorbar(at, 100 * found.mean, 100 * found.spread, color=INK, capsize=1.6, linewidth=0.8)


def _handles(grid: Grid, width: float) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    room = width - LEFT - RIGHT - KEY
    handles: list[Any] = [
        Patch(facecolor=look.colour, hatch=look.hatch, edgecolor=INK, linewidth=0.5, label=clipped(row, room))
        for row, look in looks(grid.rows).items()
    ]
    if any(grid.paper(row, group) is not None for row in grid.rows for group in (*grid.columns, MEAN)):
        mark: Any = {"marker": "D", "markersize": 4.5, "markerfacecolor": GROUND, "markeredgecolor": INK}
        handles.append(Line2D([], [], linestyle="", label="the paper", **mark))
    return handles


def _legend(drawn: Any, grid: Grid, above: float) -> None:
    width, height = drawn.get_size_inches()
    drawn.legend(
        handles=_handles(grid, width),
        loc="upper left",
        bbox_to_anchor=(LEFT / width, 1 - above / height),
        ncols=_columns(grid, width),
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        borderpad=0,
        borderaxespad=0,
        handlelength=1.6,
        columnspacing=1.2,
    )


def _columns(grid: Grid, width: float) -> int:
    longest = max(len(row) for row in (*grid.rows, "the paper"))
    return max(1, int((width - LEFT - RIGHT + 0.1) / (longest * LETTER + KEY)))


def _reach(grid: Grid, row: str, group: str) -> float:
    found, paper = value(grid, row, group), grid.paper(row, group)
    ours = 0.0 if found is None else 100 * (found.mean + (found.spread or 0))
    return max(ours, paper or 0.0)


def _gap(grid: Grid, row: str, group: str) -> str:
    entry = grid.entries.get((row, group))
    return "failed" if entry and entry.failures else "missing"


def _label(group: str) -> str:
    words = [clipped(word, 1.2) for word in shown(group).split()]
    return "\n".join(textwrap.wrap(" ".join(words), max(map(len, words), default=1), break_on_hyphens=False))
