"""`tent table`: a suite's results as a table, in the terminal and as files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tent.cli.bench import parse_seeds

if TYPE_CHECKING:
    from tent.bench.read.grid import Grid
    from tent.bench.render.table import Table

# the options of all commands that read a store
Suite = Annotated[str, typer.Argument(help="A suite that `tent bench` lists.")]
Store = Annotated[Path, typer.Option(help="Folder of results, one file a case.")]
Seeds = Annotated[str | None, typer.Option(help="Seeds, with commas; all that have results unless given.")]
Limit = Annotated[int | None, typer.Option(help="Results that were made with this --limit.", min=1)]
Model = Annotated[str | None, typer.Option(help="Results of this model in place of the suite's own.")]
Method = Annotated[str | None, typer.Option(help="Rows of this method beside Tent's, as `tent bench --method` ran it.")]
Batch = Annotated[int | None, typer.Option(help="Results that were made with this --batch.", min=1)]
Weights = Annotated[
    list[str] | None, typer.Option(help="How the hash of the weights begins, if there are several; may be repeated.")
]
Rows = Annotated[
    list[str] | None, typer.Option(help="Rows to show, in this order, with commas: Source,BN,Tent or 'Tent*'.")
]
Columns = Annotated[
    list[str] | None, typer.Option(help="Columns to show, in this order, with commas; a mean is one: fog,snow,mean.")
]

COMPUTE = "What the answers cost instead: images forward and backward, and seconds, with training."


def table(
    suite: Suite,
    store: Store = Path("results"),
    seeds: Seeds = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write Markdown, CSV and LaTeX to.")] = None,
    weights: Weights = None,
    limit: Limit = None,
    model: Model = None,
    method: Method = None,
    rows: Rows = None,
    columns: Columns = None,
    full: Annotated[bool, typer.Option("--full", help="The full protocol of all results below the table.")] = False,
    batch: Batch = None,
    compute: Annotated[bool, typer.Option("--compute", help=COMPUTE)] = False,
) -> None:
    """Show a suite's results as a table, ours beside the paper's; no model is run."""
    from rich.console import Console

    from tent.bench.read.narrow import narrow_grid
    from tent.bench.render.costs import build_cost_table
    from tent.bench.render.table import build_table
    from tent.bench.render.terminal import to_terminal

    grid = load_grid(suite, store, seeds=seeds, weights=weights, limit=limit, model=model, method=method, batch=batch)
    grid = narrow_grid(grid, rows or (), columns or ())
    built = build_cost_table(grid) if compute else build_table(grid)
    console = Console()
    console.print(to_terminal(built, console.width, full))
    if out is not None:
        for path in write_files(grid, built, out, full):
            typer.echo(f"written: {path}")


def load_grid(
    suite: str,
    store: Path,
    *,
    seeds: str | None,
    weights: list[str] | None,
    limit: int | None,
    model: str | None,
    method: str | None,
    batch: int | None = None,
) -> "Grid":
    """Return a suite's grid from a store; what is damaged there is said and skipped."""
    from tent.bench.read.query import Query, open_results, read_grid
    from tent.bench.suites import by_name

    chosen = by_name(suite)
    query = Query(
        seeds=() if seeds is None else tuple(parse_seeds(seeds)),
        limit=limit,
        hashes=tuple(weights or ()),
        model=model or "",
        method=method or "",
        batch=batch,
    )
    results, warnings = open_results(store)
    for line in warnings:
        typer.echo(f"tent: {line}", err=True)
    return read_grid(chosen, results, query)


def write_files(grid: "Grid", table: "Table", folder: Path, full: bool = False) -> list[Path]:
    """Write a table as Markdown, CSV and LaTeX, each whole or not at all, and return the files."""
    from tent.bench.render.latex import to_latex
    from tent.bench.render.markdown import to_markdown
    from tent.bench.render.spreadsheet import to_csv
    from tent.files import atomic_write

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    texts = {"md": to_markdown(table, full), "csv": to_csv(grid), "tex": to_latex(table, full)}
    for ending, text in texts.items():
        paths.append(folder / f"{table.name}.{ending}")
        with atomic_write(paths[-1]) as partial:
            partial.write_text(text, encoding="utf-8", newline="\n")
    return paths
