"""Pictures of features: their distribution layer by layer (Figure 7, appendix C), and distances by layer."""

from typing import Any

from tent.analysis.draw.panel_row import add_legend, draw_line, line_colours, methods_of, name_axes, panel_row
from tent.analysis.features.channels import EDGES
from tent.analysis.numbers import Numbers, number
from tent.plotting import INK, SMALL, TEXT, add_axis, draw_title, new_figure, title_height

LEFT, WIDE, HIGH, GAP = 1.1, 1.85, 0.42, 0.12  # inches
CLEAN = "Clean"
DISTANCES = ("distance to clean", "cka to clean", "distance to oracle", "cka to oracle")


def draw_features(numbers: Numbers, title: str = "") -> Any:
    """Draw, for each layer and method, the clean distribution behind and the shifted one in front."""
    shares: dict[Any, list[float]] = {}
    for row in numbers.tables["density"]:
        shares.setdefault((row["layer"], row["view"]), []).append(number(row, "share"))
    layers = numbers.summary["layers"]
    methods = [view for view in dict.fromkeys(view for _, view in shares) if view != CLEAN]
    colours = line_colours(methods)
    width = LEFT + len(methods) * (WIDE + GAP) + 0.1
    above = title_height(title, width) + 0.25
    figure = new_figure(width, above + len(layers) * (HIGH + GAP) + 0.58)
    for i, layer in enumerate(layers):
        for j, method in enumerate(methods):
            axis = add_axis(figure, LEFT + j * (WIDE + GAP), above + i * (HIGH + GAP), WIDE, HIGH)
            axis.stairs(shares[layer, CLEAN], EDGES, fill=True, color="#d8d8d8")
            axis.stairs(shares[layer, method], EDGES, color=colours[method], linewidth=1.5)
            _strip(axis, last=i == len(layers) - 1)
            if i == 0:
                axis.set_title(method, fontsize=TEXT, color=INK)
        middle = axis.get_position().y0 + 0.1 / figure.get_figheight()
        figure.text(0.05 / width, middle, layer, fontsize=SMALL, color=INK)
    words: Any = {"ha": "center", "fontsize": TEXT, "color": INK}
    figure.text(
        0.55,
        0.07 / figure.get_figheight(),
        "channel means of images, in deviations of the clean ones; grey: clean images, source model\n"
        "values beyond ±5 count at the ends",
        **words,
    )
    draw_title(figure, title, 0.05)
    return figure


def draw_distances(numbers: Numbers, title: str = "") -> Any:
    """Draw the distance and the CKA of each method's features to the clean ones and to the oracle's, by layer."""
    rows, methods = numbers.rows, methods_of(numbers.rows)
    known = [name for name in DISTANCES if any(row.get(name) is not None for row in rows)]
    figure, axes = panel_row(len(known), 2.3, title)
    for axis, name in zip(axes, known, strict=True):
        for method in methods:
            own = [row for row in rows if row["method"] == method and row[name] is not None]
            if own:
                draw_line(axis, method, [row["depth"] for row in own], [row[name] for row in own], among=methods)
        axis.set_ylim(bottom=0)
        axis.set_xticks(range(1, len(numbers.summary["layers"]) + 1))
        name_axes(axis, "layer", "", name.replace("cka", "CKA"))
    roomy = "cka to clean" in known  # CKA leaves room below its lines
    add_legend(axes[known.index("cka to clean") if roomy else 0], loc="lower left" if roomy else "best")
    return figure


def _strip(axis: Any, last: bool) -> None:
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.set_xlim(EDGES[0], EDGES[-1])
    axis.set_xticks([-4, -2, 0, 2, 4], ["-4", "-2", "0", "2", "4"] if last else [""] * 5)
    axis.grid(False)
