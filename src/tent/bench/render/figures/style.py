"""How figures of a suite look: as every picture does, with names as a grid has them, and as SVG inside a page."""

import io
import re
from html import escape
from typing import Any

from tent.bench.read.grid import display_name
from tent.plotting import (
    FORMATS,
    GROUND,
    INK,
    KNOWN,
    LETTER,
    OTHERS,
    PLAIN,
    SMALL,
    TEXT,
    Look,
    add_axis,
    draw_title,
    find_looks,
    new_figure,
    plot_point,
    pyplot,
    save_figure,
    title_height,
    write_figure,
)

__all__ = [
    "FORMATS",
    "GROUND",
    "INK",
    "KNOWN",
    "LETTER",
    "OTHERS",
    "PLAIN",
    "SMALL",
    "TEXT",
    "Look",
    "add_axis",
    "draw_title",
    "find_looks",
    "new_figure",
    "plot_point",
    "save_figure",
    "shorten",
    "title_height",
    "to_svg",
]


def shorten(name: str, inches: float) -> str:
    """Return a name as it is read, cut to what fits."""
    name = display_name(name)
    most = max(4, int(inches / LETTER + 0.01))  # room that was measured by a name is enough for it
    return name if len(name) <= most else f"{name[: most - 1]}…"


def to_svg(figure: Any, name: str, label: str) -> str:
    """Return a figure as SVG to stand inside a page, and close it.

    It takes the page's own ink and ground, says its label to who cannot see it, and has no id that another has.
    """
    text = io.StringIO()
    figure.patch.set_visible(False)
    write_figure(figure, text, "svg")
    pyplot().close(figure)
    body = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text.getvalue(), flags=re.DOTALL)
    view = re.search(r'viewBox="[^"]*"', body)
    body = body[body.index(">", body.index("<svg")) + 1 :].replace(INK, "currentColor").replace(GROUND, "var(--ground)")
    body = re.sub(r'\bid="|href="#|url\(#', lambda found: f"{found[0]}{name}-", body)
    body = re.sub(r' d="[^"]*"', lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), body)  # a hundredth of a point
    width = f"max-width:{figure.get_size_inches()[0]:.2f}in"
    return f'<svg role="img" aria-label="{escape(label)}" {view[0] if view else ""} style="{width}">{body.strip()}'
