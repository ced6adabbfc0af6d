"""The ablation in small panels: one choice of Tent moved at a time, Tent's own value marked in each."""

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from tent.bench.case import Case
from tent.bench.read.grid import Grid
from tent.bench.render.figures.style import (
    INK,
    KNOWN,
    LETTER,
    SMALL,
    Look,
    box,
    canvas,
    clipped,
    heading,
    heading_height,
)

LEFT, RIGHT, ABOVE, BELOW, HIGH, BAR = 0.6, 0.15, 0.32, 0.5, 1.5, 0.26  # inches
OURS, OTHER = KNOWN["Tent"], Look("#a9c3d1", "", "s")  # dark and light
KNOBS = {"lr": "learning rate", "batch_size": "images a batch", "steps": "steps a batch"}  # numbers, drawn as lines


def varied(grid: Grid) -> dict[str, list[str]]:
    """Return the rows by the one field of a case in which each differs from the first row; "" where it is several."""
    found: dict[str, list[str]] = {}
    for row in grid.rows[1:]:
        shared = (name for name in grid.columns if (row, name) in grid.entries and (grid.rows[0], name) in grid.entries)
        column = next(shared, None)
        names = [""] if column is None else _unlike(grid, row, column)
        if names:  # a row at the first one's own value is the first one
            found.setdefault(names[0] if len(names) == 1 and names[0] in (*KNOBS, "answers") else "", []).append(row)
    return found


def _unlike(grid: Grid, row: str, column: str) -> list[str]:
    one, two = (grid.entries[name, column].case for name in (grid.rows[0], row))
    return [each.name for each in fields(Case) if getattr(one, each.name) != getattr(two, each.name)]


def panels(grid: Grid, width: float = 9.5, title: str = "") -> Any:
    """Draw what moves and when it answers as bars, and the numbers of the method as lines."""
    rows = varied(grid)
    bars = {"what moves": rows.get("", []), "answers before or after the update": rows.get("answers", [])}
    tall = {name: [grid.rows[0], *own] for name, own in bars.items() if own}
    lines = {name: [grid.rows[0], *rows[name]] for name in KNOBS if name in rows}
    across = max(1, min(3, int(width / 2.9)))
    above = heading_height(title, width - 0.1)
    heights = [ABOVE + BAR * len(own) + BELOW for own in tall.values()]
    drawn = canvas(width, above + sum(heights) + math.ceil(len(lines) / across) * (ABOVE + HIGH + BELOW))
    names = min(max(len(row) for row in grid.rows) * LETTER + 0.15, 0.5 * width)
    reach = max((_reach(grid, row) for own in tall.values() for row in own), default=1)
    for i, (name, own) in enumerate(tall.items()):
        top = above + sum(heights[:i]) + ABOVE
        axis = box(drawn, names, top, width - names - 0.5, BAR * len(own))
        _bars(axis, grid, own, name, names - 0.15)
        axis.set_xlim(0, reach or 1)
    for i, (name, own) in enumerate(lines.items()):
        left, top = i % across * width / across, above + sum(heights) + i // across * (ABOVE + HIGH + BELOW) + ABOVE
        _line(box(drawn, left + LEFT, top, width / across - LEFT - RIGHT, HIGH), grid, own, name)
    heading(drawn, title, 0.1)
    return drawn


def _bars(axis: Any, grid: Grid, rows: list[str], name: str, room: float) -> None:
    for place, row in enumerate(reversed(rows)):
        found, look = grid.row_mean(row), OURS if row == rows[0] else OTHER
        if found is None:
            axis.text(0, place, " missing or failed", va="center", fontsize=SMALL, color=INK)
            continue
        axis.barh(place, 100 * found.mean, 0.7, color=look.colour, edgecolor=INK, linewidth=0.5)
        if found.spread:
            axis.errorbar(100 * found.mean, place, xerr=100 * found.spread, color=INK, capsize=2, linewidth=0.8)
        end = (100 * (found.mean + (found.spread or 0)), place)
        said = axis.annotate(f"{100 * found.mean:.1f}", end, (4, 0), textcoords="offset points", va="center")
        said.set(fontsize=SMALL, color=INK)
    axis.set_yticks(range(len(rows)), [clipped(row, room) for row in reversed(rows)])
    axis.set_ylim(-0.6, len(rows) - 0.4)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    axis.grid(axis="x", color=INK, alpha=0.15, linewidth=0.6)
    _titles(axis, name, "error (%)", "")


def _reach(grid: Grid, row: str) -> float:
    found = grid.row_mean(row)
    return 0.0 if found is None else 102 * (found.mean + (found.spread or 0))


def _line(axis: Any, grid: Grid, rows: list[str], knob: str) -> None:
    cases = {row: entry.case for (row, _), entry in grid.entries.items()}
    at: Callable[[str], float] = lambda row: _number(cases[row], knob)  # noqa: E731
    points = {row: found for row in sorted(rows, key=at) if (found := grid.row_mean(row)) is not None}
    places = [at(row) for row in points]
    values = [100 * found.mean for found in points.values()]
    axis.plot(places, values, color=OTHER.colour, linewidth=1.6)
    for (row, found), place in zip(points.items(), places, strict=True):
        look = OURS if row == rows[0] else OTHER
        if found.spread:
            axis.errorbar(place, 100 * found.mean, 100 * found.spread, color=INK, capsize=2, linewidth=0.8)
        axis.plot(place, 100 * found.mean, look.mark, color=look.colour, markeredgecolor=INK, markersize=6)
    if knob != "steps":
        axis.set_xscale("log")
        axis.minorticks_off()
    axis.set_xticks(places, [f"{place:g}" for place in places])
    axis.set_ylim(0, 1.12 * max(values, default=1))
    _titles(axis, KNOBS[knob], "", "error (%)")


def _titles(axis: Any, title: str, below: str, beside: str) -> None:
    axis.set_title(title, fontsize=SMALL, color=INK, loc="left")
    axis.set_xlabel(below, fontsize=SMALL, color=INK)
    axis.set_ylabel(beside, fontsize=SMALL, color=INK)


def _number(case: Case, knob: str) -> float:
    return float(getattr(case, knob) or 0)
