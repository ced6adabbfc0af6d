"""The picture of parameters that moved, by depth."""

from typing import Any

from tent.analysis.draw.panel_row import MARKS, add_legend, methods_of, name_axes, panel_row
from tent.analysis.numbers import Numbers

OTHERS = (("#8a8a8a", "o", ":"), ("#5b7f3a", "^", "-."), ("#6d4c94", "v", ":"))  # of layers that are no norms
PARAMETERS = {"γ": ("#d1495b", "D", "-"), "β": ("#2e86ab", "s", "--")}


def draw_movement(numbers: Numbers, title: str = "") -> Any:
    """Draw how far each tensor moved, by depth: a panel a method, a line a kind of parameter."""
    methods = methods_of(numbers.rows)
    figure, axes = panel_row(len(methods), 2.4, title, width=min(9.0, 4.5 + 3.0 * len(methods)))
    for axis, method in zip(axes, methods, strict=True):
        rows = [row for row in numbers.rows if row["method"] == method]
        kinds = dict.fromkeys(str(row["parameter"]) for row in rows)
        others = [kind for kind in kinds if kind not in PARAMETERS]
        for kind in kinds:
            own = [row for row in rows if row["parameter"] == kind]
            colour, mark, line = PARAMETERS.get(kind) or OTHERS[others.index(kind) % len(OTHERS)]
            x, y = [row["depth"] for row in own], [row["change"] for row in own]
            axis.plot(x, y, f"{line}{mark}", color=colour, label=kind, **MARKS)
        axis.set_ylim(bottom=0)
        axis.margins(y=0.15)
        name_axes(axis, "layer, from the input to the output", "change (root mean square)", method)
    add_legend(axes[0], loc="lower left")
    return figure
