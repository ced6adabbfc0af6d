"""`tent demo`: the paper's effect, seen in under a minute with nothing downloaded."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tent.cli.choices import tracked


def demo(
    every: Annotated[bool, typer.Option("--all", help="All fifteen types of corruption, not five.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the corruptions and of the stream's order.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the picture is written.")] = Path("demo.png"),
) -> None:
    """Corrupt 2,000 images that ship with the package, and adapt a model that does too: source, BN and Tent."""
    from tent.apps.demo import METHODS, types_of
    from tent.apps.demo import demo as run
    from tent.apps.poster import poster

    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(f"{out}: its folder is not there; make it first")
    shown = run(tracked, seed, types_of(every))
    table = Table("error (%)", *METHODS, caption=shown.protocol)
    for kind in shown.labels:
        table.add_row(kind.replace("_", " "), *(f"{100 * shown.error(name, kind):.1f}" for name in METHODS))
    table.add_section()
    table.add_row("mean", *(f"{100 * shown.mean(name):.1f}" for name in METHODS))
    poster(shown, out.absolute())
    Console().print(table)
    typer.echo(f"the picture: {out}")
