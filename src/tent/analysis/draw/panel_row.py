"""Panels in a row, and what all of them need: a title, names of axes, lines of methods, a legend."""

from collections.abc import Sequence
from typing import Any

from tent.plotting import INK, SMALL, TEXT, add_axis, draw_title, find_looks, new_figure, title_height

WIDTH = 9.0  # inches, as wide as a page of the documentation shows
LEFT, GAP, BELOW, RIGHT = 0.62, 0.72, 0.5, 0.15
DARKER = {"Source": "#8a8a8a", "Oracle": INK}
MARKS: dict[str, Any] = {"markersize": 4.5, "markeredgecolor": INK, "markeredgewidth": 0.5}


def panel_row(
    count: int, height: float, title: str, *, below: float = BELOW, legend: float = 0.0, width: float = WIDTH
) -> tuple[Any, list[Any]]:
    """Return a figure with so many panels side by side under a title, and their axes.

    Args:
        below: inches under the panels, for what is written there.
        legend: inches that are left free on the right.
    """
    above = title_height(title, width - LEFT) + 0.3
    figure = new_figure(width, above + height + below)
    each = (width - LEFT - RIGHT - legend - GAP * (count - 1)) / count
    axes = [add_axis(figure, LEFT + i * (each + GAP), above, each, height) for i in range(count)]
    draw_title(figure, title, LEFT)
    return figure, axes


def name_axes(axis: Any, x: str, y: str, title: str = "") -> None:
    """Write what the axes are, and a panel's own title."""
    axis.set_xlabel(x, color=INK, fontsize=TEXT)
    axis.set_ylabel(y, color=INK, fontsize=TEXT)
    if title:
        axis.set_title(title, color=INK, fontsize=TEXT, loc="left")


def draw_line(
    axis: Any, method: str, x: Sequence[Any], y: Sequence[Any], label: str = "", *, among: Sequence[str]
) -> None:
    """Draw one method's line with its marks; None is a gap.

    Args:
        among: all methods of the picture, of which those without a look of their own get one in turn.
    """
    values = [float("nan") if value is None else value for value in y]
    mark, colour = find_looks(among)[method].mark, line_colours(among)[method]
    axis.plot(x, values, color=colour, label=label or method, marker=mark, linewidth=1.6, **MARKS)


def line_colours(methods: Sequence[str]) -> dict[str, str]:
    """Return the colour of each method, darker where a thin line in it would be too pale."""
    return {method: DARKER.get(method, look.colour) for method, look in find_looks(methods).items()}


def add_legend(axis: Any, **more: Any) -> None:
    """Explain the lines."""
    axis.legend(**{"frameon": False, "fontsize": SMALL + 0.5, "labelcolor": INK, **more})


def name_counts(axis: Any, most: float) -> None:
    """Mark powers of ten up to the largest count, in plain digits, on an axis of a logarithmic scale."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    powers = [10**i for i in range(len(str(int(max(most, 1)))))]
    axis.set_major_locator(FixedLocator(powers))
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:,.0f}"))
    axis.set_minor_locator(NullLocator())


def methods_of(rows: Sequence[Any]) -> list[str]:
    """Return the methods of rows, in their order."""
    return list(dict.fromkeys(row["method"] for row in rows))
