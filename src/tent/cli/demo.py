"""`tent demo`: the paper's effect, seen in half a minute with nothing downloaded."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table


def demo(seed: Annotated[int, typer.Option(help="Seed of the data, the training and the stream.")] = 0) -> None:
    """Train a tiny network on made data, shift the data, and adapt."""
    from tent.demo import SHIFTS, errors, trained

    model = trained(track, seed)
    table = Table("method", *SHIFTS, "mean", title="error (%), one pass over 2,000 shifted images each, batch 100")
    for name, row in errors(model, seed).items():
        table.add_row(name, *(f"{100 * error:.1f}" for error in (*row, sum(row) / len(row))))
    Console().print(table)
