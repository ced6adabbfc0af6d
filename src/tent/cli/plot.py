"""`tent plot` and `tent report`: what a store has, as figures and as one page."""

from pathlib import Path
from typing import Annotated

import typer

from tent.cli.table import Batch, Columns, Limit, Method, Model, Rows, Seeds, Store, Suite, Weights, load_grid

LEAST = 3.0  # inches: names and axes need so much


def plot(
    suite: Suite,
    store: Store = Path("results"),
    seeds: Seeds = None,
    out: Annotated[Path, typer.Option(help="Folder to write figures to.")] = Path("figures"),
    weights: Weights = None,
    limit: Limit = None,
    model: Model = None,
    method: Method = None,
    rows: Rows = None,
    columns: Columns = None,
    formats: Annotated[str, typer.Option("--format", help="png, svg, pdf: some of them, with commas.")] = "png,svg,pdf",
    width: Annotated[float, typer.Option(help="Inches: 9.5 for a page or a slide, 3.4 for one of two columns.")] = 9.5,
    batch: Batch = None,
) -> None:
    """Draw a suite's results, by column and against compute, as PNG, SVG and PDF; no model is run."""
    from tent.bench.read.narrow import narrow_grid
    from tent.bench.render.figures.plot import plot as draw

    if width < LEAST:
        raise ValueError(f"--width {width:g}: give {LEAST:g} inches or more")
    chosen = [form.strip().lower() for form in formats.split(",")]
    grid = load_grid(suite, store, seeds=seeds, weights=weights, limit=limit, model=model, method=method, batch=batch)
    for path in draw(narrow_grid(grid, rows or (), columns or ()), out, width, chosen):
        typer.echo(f"written: {path}")


def report(
    store: Store = Path("results"),
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    weights: Weights = None,
) -> None:
    """Write one self-contained HTML page with all tables and figures of a store; no model is run."""
    from tent.bench.read.query import open_results, read_grids
    from tent.bench.render.report import render_report
    from tent.bench.suites import SUITES
    from tent.files import atomic_write

    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(f"{out}: its folder does not exist; create it first")
    results, warnings = open_results(store)
    for line in warnings:
        typer.echo(f"tent: {line}", err=True)
    grids = read_grids(SUITES.values(), results, tuple(weights or ()))
    if not grids:
        raise ValueError(f"the {len(results)} results in {store} are of no suite; run one, such as: tent bench digits")
    page = render_report(grids, warnings)
    with atomic_write(out.absolute()) as partial:
        partial.write_text(page, encoding="utf-8", newline="\n")
    tables = f"{len(grids)} table{'s' if len(grids) > 1 else ''}"
    typer.echo(f"{out}: {tables} of {', '.join(dict.fromkeys(grid.name for grid in grids))}")
