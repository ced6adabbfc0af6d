"""The ablation in small panels: one choice of a method changed at a time, its own value marked in each."""

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from tent.bench.case import Case
from tent.bench.read.grid import Grid
from tent.bench.render.figures import style

LEFT, RIGHT, ABOVE, BELOW, HIGH, BAR = 0.6, 0.15, 0.32, 0.5, 1.5, 0.26  # inches
OURS, OTHER = style.KNOWN["Tent"], style.PLAIN  # dark and light
NUMBERS = {"lr": "learning rate", "batch_size": "images a batch", "steps": "steps a batch"}  # drawn as lines


def rows_by_choice(grid: Grid) -> dict[str, list[str]]:
    """Return the rows by the one field of a case in which each differs from the first row; "" where it is several."""
    choices: dict[str, list[str]] = {}
    for row in grid.rows[1:]:
        shared = (name for name in grid.columns if (row, name) in grid.entries and (grid.rows[0], name) in grid.entries)
        column = next(shared, None)
        names = [""] if column is None else _different_fields(grid, row, column)
        if names:  # a row at the first one's own value is the first one
            choice = names[0] if len(names) == 1 and names[0] in (*NUMBERS, "answers") else ""
            choices.setdefault(choice, []).append(row)
    return choices


def _different_fields(grid: Grid, row: str, column: str) -> list[str]:
    one, two = (grid.entries[name, column].case for name in (grid.rows[0], row))
    return [each.name for each in fields(Case) if getattr(one, each.name) != getattr(two, each.name)]


def draw_panels(grid: Grid, width: float = 9.5, title: str = "") -> Any:
    """Draw what moves and when it answers as bars, and the numbers of the method as lines."""
    rows = rows_by_choice(grid)
    words = {"what moves": rows.get("", []), "answers before or after the update": rows.get("answers", [])}
    bars = {name: [grid.rows[0], *own] for name, own in words.items() if own}
    lines = {name: [grid.rows[0], *rows[name]] for name in NUMBERS if name in rows}
    across = max(1, min(3, int(width / 2.9)))
    above = style.title_height(title, width - 0.1)
    heights = [ABOVE + BAR * len(own) + BELOW for own in bars.values()]
    figure = style.new_figure(width, above + sum(heights) + math.ceil(len(lines) / across) * (ABOVE + HIGH + BELOW))
    names = min(max(len(row) for row in grid.rows) * style.LETTER + 0.15, 0.5 * width)
    reach = max((sum(grid.display_value(row) or (0.0,)) for own in bars.values() for row in own), default=1) or 1
    for i, (name, own) in enumerate(bars.items()):
        axis = style.add_axis(figure, names, above + sum(heights[:i]) + ABOVE, width - names - 0.5, BAR * len(own))
        _draw_bars(axis, grid, own, names - 0.15)
        _name_axis(axis, name, grid.metric.axis, "")
        axis.set_xlim(0, 1.02 * reach)
    for i, (name, own) in enumerate(lines.items()):
        left, top = i % across * width / across, above + sum(heights) + i // across * (ABOVE + HIGH + BELOW) + ABOVE
        axis = style.add_axis(figure, left + LEFT, top, width / across - LEFT - RIGHT, HIGH)
        _draw_line(axis, grid, own, name)
        _name_axis(axis, NUMBERS[name], "", grid.metric.axis)
    style.draw_title(figure, title, 0.1)
    return figure


def _draw_bars(axis: Any, grid: Grid, rows: Sequence[str], room: float) -> None:
    for place, row in enumerate(reversed(rows)):
        value, look = grid.display_value(row), OURS if row == rows[0] else OTHER
        if value is None:
            axis.text(0, place, " missing or failed", va="center", fontsize=style.SMALL, color=style.INK)
            continue
        axis.barh(place, value[0], 0.7, color=look.colour, edgecolor=style.INK, linewidth=0.5)
        if value[1]:
            axis.errorbar(value[0], place, xerr=value[1], color=style.INK, capsize=2, linewidth=0.8)
        text = axis.annotate(f"{value[0]:.1f}", (sum(value), place), (4, 0), textcoords="offset points", va="center")
        text.set(fontsize=style.SMALL, color=style.INK)
    axis.set_yticks(range(len(rows)), [style.shorten(row, room) for row in reversed(rows)])
    axis.set_ylim(-0.6, len(rows) - 0.4)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    axis.grid(axis="x", color=style.INK, alpha=0.15, linewidth=0.6)


def _draw_line(axis: Any, grid: Grid, rows: Sequence[str], name: str) -> None:
    numbers = {row: float(getattr(entry.case, name) or 0) for (row, _), entry in grid.entries.items()}
    ordered = sorted(rows, key=numbers.__getitem__)
    points = {row: value for row in ordered if (value := grid.display_value(row)) is not None}
    places, means = [numbers[row] for row in points], [mean for mean, _ in points.values()]
    axis.plot(places, means, color=OTHER.colour, linewidth=1.6)
    for row, (mean, spread) in points.items():
        style.plot_point(axis, (numbers[row], mean), spread, OURS if row == rows[0] else OTHER)
    if name != "steps":
        axis.set_xscale("log")
        axis.minorticks_off()
    axis.set_xticks(places, [f"{place:g}" for place in places])
    axis.set_ylim(0, 1.12 * max(means, default=1))


def _name_axis(axis: Any, title: str, below: str, beside: str) -> None:
    axis.set_title(title, fontsize=style.SMALL, color=style.INK, loc="left")
    axis.set_xlabel(below, fontsize=style.SMALL, color=style.INK)
    axis.set_ylabel(beside, fontsize=style.SMALL, color=style.INK)
