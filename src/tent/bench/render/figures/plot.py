"""The figures of a suite: which there are, and what each says to a reader who cannot see it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tent.bench.read.grid import Grid, display_name
from tent.bench.read.training import is_baseline
from tent.bench.read.variation import describe_seeds
from tent.bench.render.figures.bars import draw_bars
from tent.bench.render.figures.multiples import draw_multiples
from tent.bench.render.figures.panels import draw_panels, rows_by_choice
from tent.bench.render.figures.severity_lines import draw_severities, rows_by_severity
from tent.bench.render.figures.stream_lines import draw_stream, is_one_stream
from tent.bench.render.figures.style import FORMATS, save_figure
from tent.bench.render.figures.tradeoff import draw_tradeoff

WIDTH = 9.5  # inches
FEW = 5  # rows that are drawn as bars side by side; more are hard to tell apart


@dataclass(frozen=True)
class Picture:
    """A figure of a grid: its short name, its caption, and how it is drawn at a width in inches, under a title."""

    name: str
    caption: str
    draw: Callable[[Grid, float, str], Any]


def list_pictures(grid: Grid) -> list[Picture]:
    """Return the figures that a suite's rows lend themselves to; none where every result failed."""
    if not any(entry.successes for entry in grid.entries.values()):
        return []
    over = f"; error bars are one standard deviation, {describe_seeds(grid)}" if len(grid.seeds) > 1 else ""
    label, rows = grid.metric.label, ", ".join(display_name(row) for row in grid.rows)
    if rows_by_severity(grid) and grid.headline:
        caption = f"Mean {label} over the types by severity, a line a method{over}."
        return [Picture("severities", caption, draw_severities)]
    if len(rows_by_choice(grid)) > 2 and grid.headline:
        caption = (
            f"One choice of {grid.rows[0]} changed at a time, mean {label} over the types; its own is marked{over}."
        )
        return [Picture("panels", caption, draw_panels)]
    cost = (
        f"{grid.metric.title} against compute: seconds for 1,000 images, updating and answering, without reading data"
    )
    if any(is_baseline(result.training) for result in grid.results):
        cost += ", and with the training of models that were trained by the row's own method"
    along = f"{grid.metric.title} along the stream, over as many batches as a domain has, a line a method."
    return [
        *([Picture("stream", along, draw_stream)] if is_one_stream(grid) else []),
        Picture(
            "columns",
            f"{grid.metric.title} by column: {rows}{over}.",
            draw_bars if len(grid.rows) <= FEW else draw_multiples,
        ),
        Picture("compute", f"{cost}{over}.", draw_tradeoff),
    ]


def plot(grid: Grid, folder: Path, width: float = WIDTH, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Draw every figure of a grid in some formats, and return the files."""
    if unknown := [form for form in formats if form not in FORMATS]:
        raise ValueError(f"figures are written as {', '.join(FORMATS)}, not as {unknown[0]!r}")
    pictures = list_pictures(grid)
    if not pictures:
        raise ValueError(f"every result of {grid.name} failed; there is nothing to draw (see: tent table {grid.name})")
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for picture in pictures:
        path = folder / f"{grid.file_name}-{picture.name}"
        files += save_figure(picture.draw(grid, width, grid.heading), path, formats)
    return files
