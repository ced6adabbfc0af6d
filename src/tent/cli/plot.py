"""`tent plot`: a suite's figures."""

from pathlib import Path
from typing import Annotated

import typer

from tent.cli.table import Batch, Limit, Method, Model, Seeds, Store, Suite, Weights, load_grid


def plot(
    suite: Suite,
    store: Store = Path("results"),
    seeds: Seeds = None,
    out: Annotated[Path, typer.Option(help="Folder to write PNG and SVG to.")] = Path("figures"),
    weights: Weights = None,
    limit: Limit = None,
    model: Model = None,
    method: Method = None,
    batch: Batch = None,
) -> None:
    """Draw a suite's results, by column and against compute, as PNG and SVG; no model is run."""
    from tent.bench.render.figures.plot import plot as draw

    grid = load_grid(suite, store, seeds=seeds, weights=weights, limit=limit, model=model, method=method, batch=batch)
    for path in draw(grid, out):
        typer.echo(f"written: {path}")
