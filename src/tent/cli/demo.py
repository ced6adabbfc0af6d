"""`tent demo`: the paper's effect, seen in under a minute with nothing downloaded."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tent.cli.choices import DEVICE, PRECISION, say, track


def demo(
    every: Annotated[bool, typer.Option("--all", help="All fifteen types of corruption, not five.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the corruptions and of the stream's order.", min=0)] = 0,
    out: Annotated[Path, typer.Option(help="Where the picture is written.")] = Path("demo.png"),
    device: Annotated[str | None, typer.Option(help=DEVICE)] = None,
    precision: Annotated[str, typer.Option(help=PRECISION)] = "float32",
) -> None:
    """Corrupt 2,000 images that ship with the package, and adapt a model that does too: source, BN and Tent."""
    from tent.apps.demo import METHODS, corruption_types
    from tent.apps.demo import demo as run
    from tent.apps.poster import draw_poster
    from tent.environment import choose_device
    from tent.plotting import check_picture

    place, draws = choose_device(device), True
    try:
        check_picture(out)
    except ModuleNotFoundError as missing:
        draws = False
        say(f"warning: no picture is drawn: {missing}")
    found = run(track, seed, corruption_types(every), place, precision)
    table = Table("error (%)", *METHODS, caption=found.protocol)
    for kind in found.types:
        table.add_row(kind.replace("_", " "), *(f"{100 * found.error(name, kind):.1f}" for name in METHODS))
    table.add_section()
    table.add_row("mean", *(f"{100 * found.mean(name):.1f}" for name in METHODS))
    Console().print(table)
    if draws:
        draw_poster(found, out.absolute())
        typer.echo(f"the picture: {out}")
