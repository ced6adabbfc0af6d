"""The picture of entropy and loss by level of corruption (Figure 2)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tent.analysis.draw.panel_row import MARKS as EDGES
from tent.analysis.draw.panel_row import add_legend, methods_of, name_axes, panel_row
from tent.analysis.numbers import Numbers, Row, number
from tent.data.corruptions import BENCHMARK
from tent.plotting import INK, SMALL, find_looks

FAMILIES = ("noise", "blur", "weather", "digital")
SIZES = (3, 4, 4, 4)  # of the families, in the benchmark's order of types
COLOURS = ("#d1495b", "#2e86ab", "#5b7f3a", "#e8a33d")
MARKS = ("o", "s", "^", "D")


def draw_levels(numbers: Numbers, title: str = "") -> Any:
    """Draw the source's entropy and loss by level, a line a type, and both against each other."""
    method = methods_of(numbers.rows)[0]
    rows = [row for row in numbers.rows if row["method"] == method]
    if not any(row["level"] for row in rows):
        return _draw_domains(numbers, title)
    known = _available_measures(rows)
    figure, axes = panel_row(3 if "loss" in known else 1, 2.7, title, width=9.0 if "loss" in known else 5.0)
    for axis, name in zip(axes, known, strict=False):
        _draw_lines(axis, rows, name)
        words = _correlation(numbers, method, f"{name} and level")
        name_axes(axis, "level of corruption", f"mean {name} (nats)", words)
    add_legend(axes[0], loc="lower right")
    if "loss" in known:
        _draw_points(axes[2], rows)
        name_axes(axes[2], "mean entropy (nats)", "mean loss (nats)", _correlation(numbers, method, "loss and entropy"))
    return figure


def family(kind: str) -> int:
    """Return which family a type is of, by its place; the number of families for one that is of none."""
    if kind not in BENCHMARK:
        return len(FAMILIES)
    return int(np.searchsorted(np.cumsum(SIZES), BENCHMARK.index(kind), side="right"))


def _draw_lines(axis: Any, rows: Sequence[Row], name: str) -> None:
    rows = [row for row in rows if row[name] is not None]  # the original data may have no labels
    first = [row for row in rows if row["original"]]
    shifted = [row for row in rows if not row["original"]]
    said: set[str] = set()
    for kind in dict.fromkeys(str(row["type"]) for row in shifted):
        own = sorted((*first, *(row for row in shifted if row["type"] == kind)), key=_level)
        colour, mark, label = _look(kind)
        axis.plot(
            [row["level"] for row in own],
            [row[name] for row in own],
            f"-{mark}",
            color=colour,
            linewidth=0.9,
            markersize=2.5,
            alpha=0.8,
            label=None if label in said else label,
        )
        said.add(label)
    levels = sorted({_level(row) for row in rows})
    means = [np.mean([number(row, name) for row in rows if _level(row) == level]) for level in levels]
    axis.plot(levels, means, color=INK, linewidth=2.6, label="mean of all types")
    axis.set_xticks(levels, ["original" if level == 0 else str(level) for level in levels])
    axis.set_ylim(bottom=0)


def _draw_points(axis: Any, rows: Sequence[Row]) -> None:
    for row in (row for row in rows if row["loss"] is not None):
        colour, mark, _ = ("white", "*", "") if row["original"] else _look(str(row["type"]))
        size = 9 if row["original"] else 2 + 0.9 * _level(row)
        axis.plot(row["entropy"], row["loss"], mark, **{**EDGES, "color": colour, "markersize": size})
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0)


def _draw_domains(numbers: Numbers, title: str) -> Any:
    """Draw the mean entropy of every domain, and the mean loss where labels are known, where domains have no level."""
    known, methods = _available_measures(numbers.rows), methods_of(numbers.rows)
    figure, axes = panel_row(len(known), 2.4, title, width=5.5 if len(known) == 1 else 9.0)
    for axis, name in zip(axes, known, strict=True):
        _draw_bars(axis, [row for row in numbers.rows if row[name] is not None], name, methods)
        name_axes(axis, "", f"mean {name} (nats)")
        axis.margins(y=0.25)
    add_legend(axes[0], ncols=len(methods), loc="upper left")
    return figure


def _draw_bars(axis: Any, rows: Sequence[Row], name: str, methods: Sequence[str]) -> None:
    domains = list(dict.fromkeys((row["type"], row["original"]) for row in rows))
    width = 0.8 / len(methods)
    for i, (method, look) in enumerate(find_looks(methods).items()):
        own = {(row["type"], row["original"]): row[name] for row in rows if row["method"] == method}
        place = np.arange(len(domains)) + (i - (len(methods) - 1) / 2) * width
        heights = [own[domain] for domain in domains]
        bars = axis.bar(place, heights, width, color=look.colour, hatch=look.hatch, label=method)
        axis.bar_label(bars, fmt="%.2f", fontsize=SMALL, color=INK)
    axis.set_xticks(range(len(domains)), [kind for kind, _ in domains])


def _available_measures(rows: Sequence[Row]) -> list[str]:
    """Return what is known of the shifted data: entropy, and loss where they have labels."""
    shifted = [row for row in rows if not row["original"]] or rows
    return [name for name in ("entropy", "loss") if all(row.get(name) is not None for row in shifted)]


def _look(kind: str) -> tuple[str, str, str]:
    place = family(kind)
    return (COLOURS[place], MARKS[place], FAMILIES[place]) if place < len(FAMILIES) else ("#8a8a8a", "v", "other")


def _level(row: Row) -> int:
    return int(row["level"] or 0)


def _correlation(numbers: Numbers, method: str, name: str) -> str:
    own = numbers.summary[method]
    overall, within = own.get(name), own.get(f"{name}, within a type")
    if overall is None:
        return ""
    return f"rank corr. {overall:.2f}" + ("" if within is None else f", in a type {within:.2f}")
