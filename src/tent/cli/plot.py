"""`tent plot`: a suite's figures."""

from pathlib import Path
from typing import Annotated

import typer

from tent.cli.table import Limit, Model, Seeds, Store, Suite, Weights, asked, found


def plot(
    suite: Suite,
    store: Store = Path("results"),
    seeds: Seeds = None,
    out: Annotated[Path, typer.Option(help="Folder to write PNG and SVG to.")] = Path("figures"),
    weights: Weights = None,
    limit: Limit = None,
    model: Model = None,
) -> None:
    """Draw a suite's results, error by column and against compute, as PNG and SVG; no model is run."""
    grid = found(suite, store, asked(seeds, weights, limit, model))
    from tent.bench.render.plot import plot as draw

    for path in draw(grid, out):
        typer.echo(f"written: {path}")
