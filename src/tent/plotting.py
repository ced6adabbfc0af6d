"""What every picture needs: its look, which is read without colour too, and files that are whole."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tent.files import atomic_write, check_file

INK = "#1c1c1e"  # of text and lines; an SVG inside a page takes the page's own instead
GROUND = "#fefefe"  # of what stands out from the bars; the page's own too
SMALL, TEXT = 7.5, 9.0  # points
FORMATS = ("png", "svg", "pdf")
DATES = {"svg": "Date", "pdf": "CreationDate"}  # what a format would note the time under
LETTER = 0.062  # inches, of the small text; a generous mean


@dataclass(frozen=True)
class Look:
    """A row's colour, hatch and mark, the same in every figure."""

    colour: str
    hatch: str
    mark: str


KNOWN: Mapping[str, Look] = {
    "Source": Look("#c3c3c3", "", "o"),
    "BN": Look("#2e86ab", "////", "s"),
    "PL": Look("#f0c25a", "....", "^"),
    "Tent": Look("#d1495b", "", "D"),
    "Tent offline": Look("#8a2f4e", "\\\\\\\\", "v"),
    "RG": Look("#d9c7e8", "//", "*"),
    "UDA-SS": Look("#6d4c94", "\\\\", "d"),
    "TTT": Look("#3f7d6b", "OO", "8"),
    "Oracle": Look("#7a8794", "**", "H"),
    "Oracle offline": Look("#46505a", "oO", "x"),
}
PLAIN = Look("#a9c3d1", "", "s")  # beside a row that stands out
OTHERS = (
    Look("#7fb7be", "xxxx", "P"),
    Look("#5b7f3a", "----", "X"),
    Look("#b58ac4", "", "<"),
    Look("#e8875a", "||||", ">"),
    Look("#4a5a8c", "++++", "h"),
    Look("#a8c66c", "oo", "p"),
)


def find_looks(rows: Sequence[str]) -> dict[str, Look]:
    """Return how each row is drawn: a known method as always, the rest in turn."""
    rest = [row for row in rows if row not in KNOWN]
    return {row: KNOWN[row] if row in KNOWN else OTHERS[rest.index(row) % len(OTHERS)] for row in rows}


def pyplot() -> Any:
    """Return matplotlib's pyplot, drawing to files alone, or say how to get it."""
    try:
        import matplotlib
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError("plots need matplotlib: pip install 'tent-tta[bench]'") from missing
    matplotlib.use("agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


def has_matplotlib() -> bool:
    """Tell whether pictures can be drawn."""
    try:
        pyplot()
    except ModuleNotFoundError:
        return False
    return True


def check_picture(path: Path) -> None:
    """Say so if no picture can be drawn to this file."""
    check_file(path)
    formats = pyplot().Figure().canvas.get_supported_filetypes()
    if path.suffix[1:] not in ("", *formats):
        raise ValueError(f"{path}: pictures are written as {', '.join(formats)}, not as {path.suffix}")


def save(figure: Any, path: Path) -> None:
    """Write a figure beside and rename it, and close it, also where it cannot be written."""
    try:
        with atomic_write(path) as partial:
            figure.savefig(partial, dpi=130, format=path.suffix[1:] or "png")
    finally:
        pyplot().close(figure)


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """Return the mean over the last values, as many as the window or as there are."""
    return [float(np.mean(values[max(0, i + 1 - window) : i + 1])) for i in range(len(values))]


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of so many inches."""
    return pyplot().figure(figsize=(width, height), facecolor=GROUND)


def add_axis(figure: Any, left: float, top: float, width: float, height: float) -> Any:
    """Return an axis at a place given in inches from the figure's upper left corner."""
    wide, high = figure.get_size_inches()
    axis = figure.add_axes((left / wide, 1 - (top + height) / high, width / wide, height / high))
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        axis.spines[side].set_color(INK)
    axis.tick_params(colors=INK, labelsize=SMALL)
    axis.grid(axis="y", color=INK, alpha=0.15, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.patch.set_visible(False)
    return axis


def plot_point(axis: Any, point: tuple[float, float], spread: float, look: Look, size: float = 6) -> None:
    """Mark a point, with its spread where there is one."""
    if spread:
        axis.errorbar(*point, spread, color=INK, capsize=2, linewidth=0.8)
    axis.plot(*point, look.mark, color=look.colour, markeredgecolor=INK, markersize=size)


def draw_title(figure: Any, text: str, left: float) -> None:
    """Write a title over a figure; `title_height` of it is left free there."""
    wide, high = figure.get_size_inches()
    lines = "\n".join(_wrap(text, wide - left))
    figure.text(left / wide, 1 - 0.08 / high, lines, fontsize=TEXT, color=INK, va="top", linespacing=1.25)


def title_height(text: str, width: float) -> float:
    """Return the inches that a title takes in a figure of that width, from its left."""
    return 0.08 + 0.165 * len(_wrap(text, width)) + 0.07 if text else 0.05


def _wrap(text: str, width: float) -> list[str]:
    return textwrap.wrap(text, max(10, int(width / (LETTER * TEXT / SMALL))))


def save_figure(figure: Any, path: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write a figure in some formats, each file whole or not at all; close it in any case, and return the files."""
    files = [path.with_name(f"{path.name}.{form}") for form in formats]
    try:
        for file in files:
            with atomic_write(file) as partial:
                write_figure(figure, partial, file.suffix[1:])
    finally:
        pyplot().close(figure)
    return files


def write_figure(figure: Any, to: Any, form: str) -> None:
    """Write a figure to a file or a text buffer in one format, names as they are, the same bits every time."""
    import matplotlib
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a name with dollars in it is a name

    # text as outlines, so that it is as wide everywhere as it was measured here
    settings: Any = {"svg.fonttype": "path", "svg.hashsalt": "tent", "pdf.fonttype": 42, "hatch.linewidth": 0.7}
    with matplotlib.rc_context(settings):
        figure.savefig(to, dpi=150, format=form, metadata={DATES[form]: None} if form in DATES else None)
