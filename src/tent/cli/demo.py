"""`tent demo`: the paper's effect, seen in under a minute with nothing downloaded."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tent.cli.choices import track


def demo(
    every: Annotated[bool, typer.Option("--all", help="All fifteen types of corruption, not five.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the corruptions and of the stream's order.", min=0)] = 0,
    out: Annotated[Path, typer.Option(help="Where the picture is written.")] = Path("demo.png"),
) -> None:
    """Corrupt 2,000 images that ship with the package, and adapt a model that does too: source, BN and Tent."""
    from tent.apps.demo import METHODS, corruption_types
    from tent.apps.demo import demo as run
    from tent.apps.poster import draw_poster
    from tent.plotting import check_picture

    check_picture(out)
    found = run(track, seed, corruption_types(every))
    table = Table("error (%)", *METHODS, caption=found.protocol)
    for kind in found.types:
        table.add_row(kind.replace("_", " "), *(f"{100 * found.error(name, kind):.1f}" for name in METHODS))
    table.add_section()
    table.add_row("mean", *(f"{100 * found.mean(name):.1f}" for name in METHODS))
    draw_poster(found, out.absolute())
    Console().print(table)
    typer.echo(f"the picture: {out}")
