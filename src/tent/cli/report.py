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
    from tent.bench.read.reading import grids, opened
    from tent.bench.render.report import report as page
    from tent.bench.suites import SUITES
    from tent.files import atomic_write

    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(f"{out}: its folder is not there; make it first")
    results, alerts = opened(store)
    for line in alerts:
        typer.echo(f"tent: {line}", err=True)
    found = grids(SUITES.values(), results, tuple(weights or ()))
    if not found:
        raise ValueError(f"the {len(results)} results in {store} are of no suite; run one, such as: tent bench digits")
    text = page(found, alerts)
    with atomic_write(out.absolute()) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")
    tables = f"{len(found)} table{'s' if len(found) > 1 else ''}"
    typer.echo(f"{out}: {tables} of {', '.join(dict.fromkeys(grid.name for grid in found))}")
