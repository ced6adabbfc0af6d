"""The figures of a suite: which there are, and what each says to a reader who cannot see it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tent.bench.read.grid import Grid
from tent.bench.read.terms import shown
from tent.bench.read.training import altered
from tent.bench.render.figures.bars import bars
from tent.bench.render.figures.compute import compute
from tent.bench.render.figures.panels import panels, varied
from tent.bench.render.figures.severities import by_severity, severities
from tent.bench.render.figures.style import keep


@dataclass(frozen=True)
class Picture:
    """A figure of a grid: its short name, its caption, and how it is drawn at a width in inches, under a title."""

    name: str
    caption: str
    draw: Callable[[Grid, float, str], Any]


def pictures(grid: Grid) -> list[Picture]:
    """Return the figures that a suite's rows lend themselves to."""
    if all(_empty(grid, row) for row in grid.rows):
        return []  # nothing was done: there is nothing to draw
    over = f"; error bars are one standard deviation over {len(grid.seeds)} seeds" if len(grid.seeds) > 1 else ""
    rows = ", ".join(shown(row) for row in grid.rows)
    if by_severity(grid):
        return [Picture("severities", f"Mean error over the types by severity, a line a method{over}.", severities)]
    if len(varied(grid)) > 2:
        said = (
            f"One choice of {grid.rows[0]} moved at a time, mean error over the types; its own value is marked{over}."
        )
        return [Picture("panels", said, panels)]
    cost = "Error against compute: seconds for 1,000 images, learning and answering, without reading data"
    if any(altered(result.training) for result in grid.results):
        cost += ", and with the training of models that were trained by the row's own method"
    return [
        Picture("columns", f"Error by column: {rows}{over}.", bars),
        Picture("compute", f"{cost}{over}.", compute),
    ]


def plot(grid: Grid, folder: Path, width: float = 9.5) -> list[Path]:
    """Draw every figure of a grid as PNG and SVG, and return the files."""
    drawn = pictures(grid)
    if not drawn:
        raise ValueError(f"every result of {grid.name} failed; there is nothing to draw (see: tent table {grid.name})")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{grid.file}-{picture.name}" for picture in drawn]
    files = []
    for picture, path in zip(drawn, paths, strict=True):
        files += keep(picture.draw(grid, width, grid.heading), path)
    return files


def _empty(grid: Grid, row: str) -> bool:
    return not any(entry.done for (name, _), entry in grid.entries.items() if name == row)
