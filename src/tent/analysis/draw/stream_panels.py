"""The picture of a stream: entropy, confidence and class balance, and error where labels are known."""

from collections.abc import Iterable
from typing import Any

from tent.analysis.draw.panel_row import add_legend, line_colours, methods_of, name_axes, panel_row
from tent.analysis.numbers import Numbers, Row, number
from tent.plotting import INK, running_mean

CLASSES = "effective classes"
SCALES = {"entropy": 1.0, "confidence": 100.0, CLASSES: 1.0, "error": 100.0}
NAMES = {
    "entropy": "mean entropy (nats)",
    "confidence": "mean confidence (%)",
    CLASSES: "effective classes",
    "error": "error (%)",
}


def draw_stream(numbers: Numbers, title: str = "") -> Any:
    """Draw a panel for each quantity, a line a method: pale point by point, and its running mean."""
    kinds = [kind for kind in SCALES if kind in numbers.rows[0]]
    figure, axes = panel_row(len(kinds), 2.3, title)
    methods = methods_of(numbers.rows)
    for axis, kind in zip(axes, kinds, strict=True):
        for method, colour in line_colours(methods).items():
            own = _full(row for row in numbers.rows if row["method"] == method)
            x, y = [row["images"] for row in own], [SCALES[kind] * number(row, kind) for row in own]
            axis.plot(x, y, color=colour, alpha=0.3, linewidth=0.7)
            axis.plot(x, running_mean(y, max(1, len(y) // 12)), color=colour, linewidth=1.8, label=method)
        if kind == CLASSES:  # few images cannot be answered with all of many classes, however varied
            even = numbers.summary["effective classes of uniform answers"]
            axis.axhline(even, color=INK, linewidth=0.8, linestyle=":")
        axis.set_ylim(bottom=0)
        axis.set_xlim(left=0)
        axis.locator_params(axis="x", nbins=3)
        axis.xaxis.set_major_formatter(lambda value, place: f"{value:,.0f}")
        name_axes(axis, "images", "", NAMES[kind])
    add_legend(axes[0], loc="lower left")
    return figure


def _full(rows: Iterable[Row]) -> list[Row]:
    """Return the points but for a last one of few images, whose answers cannot be as varied as the others'."""
    found = list(rows)
    short = len(found) > 1 and 2 * (number(found[-1], "images") - number(found[-2], "images")) < number(
        found[0], "images"
    )
    return found[:-1] if short else found
