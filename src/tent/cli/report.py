"""`tent report`: everything a store has, as one page."""

from pathlib import Path
from typing import Annotated

import typer

from tent.cli.table import Store, Weights


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
