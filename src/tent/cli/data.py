"""`tent data`: what is there, fetch what is not, make the corruption benchmark."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    from tent.data.sets.published import Progress as Report

# each command imports the part of the data room that it needs when it is run
app = typer.Typer(help="List, fetch and make sets of images.", no_args_is_help=False)
Root = Annotated[Path | None, typer.Option(help="The folder that holds the sets, instead of TENT_DATA.")]


@app.callback(invoke_without_command=True)
def show(context: typer.Context, root: Root = None) -> None:
    """List the sets that are known, what of them is there, and how large they are."""
    from tent.data.data_folder import data_folder, folder_size
    from tent.data.sets import catalog

    if context.invoked_subcommand is not None:
        if root is not None:
            raise ValueError(
                f"--root {root} belongs after the command: tent data {context.invoked_subcommand} --root ..."
            )
        return
    at = data_folder(root)
    table = Table("name", "set", "classes", "there", "on disk", "to fetch", title=escape(f"sets in {at}"))
    for known in catalog.known_sets().values():
        folder = known.path(at)
        there = known.pieces_in(folder)
        size, whole = folder_size(folder) if there else (0, True)
        on_disk = ("" if whole else "over ") + (_amount(size) if there else "")
        fetch = _amount(known.bytes) if known.bytes else "size unknown"
        table.add_row(known.name, known.title, str(known.classes), _pieces(there), on_disk, fetch)
    Console().print(table)
    typer.echo("Besides: folder:PATH, npy:IMAGES,LABELS, pairs:IMAGES,LABELS, torchvision:CLASS and hf:NAME.")


@app.command("get")
def get_command(
    name: Annotated[str, typer.Argument(help="A set that `tent data` lists.")],
    only: Annotated[list[str] | None, typer.Option(help="One piece (split, type, version); may be repeated.")] = None,
    root: Root = None,
    keep: Annotated[bool, typer.Option(help="Keep the downloaded files after they are laid out.")] = False,
) -> None:
    """Fetch a set: resumed, checked against its published sums, opened safely, and laid out as plain files.

    Without a network, it says which files to put where; run it again and it takes them from there.
    """
    from tent.data.data_folder import data_folder
    from tent.data.fetch.get import download_folder, get
    from tent.data.sets import catalog

    known, at = catalog.get_set(name), data_folder(root)
    with _bar() as report:
        brought = get(known, at, only or (), progress=report, keep=keep)
    if brought:
        typer.echo(f"{known.name}: {', '.join(brought)} in {known.path(at)}")
    else:
        typer.echo(f"{known.name}: already there, in {known.path(at)}")
    if keep and brought:
        typer.echo(f"the published files are kept in {download_folder(known, at)}")


@app.command("make")
def make_command(
    name: Annotated[
        str,
        typer.Argument(help="cifar10-c, cifar100-c, imagenet-c, imagenet-val5k-c, cityscapes-c or cityscapes-small-c."),
    ],
    types: Annotated[str, typer.Option(help="Types, with commas; the benchmark's fifteen unless given.")] = "",
    severities: Annotated[str, typer.Option(help="Severities from 1 to 5, with commas; all unless given.")] = "",
    split: Annotated[str, typer.Option(help="test, as published, or train, to be learnt from.")] = "test",
    seed: Annotated[int, typer.Option(help="Of every random draw.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; one alone uses all of torch's threads.")] = 1,
    frost: Annotated[Path | None, typer.Option(help="A folder of photographs of frost.")] = None,
    root: Root = None,
) -> None:
    """Make the corruption benchmark from the clean images, in the published layout.

    What is whole is left alone, so a run that was stopped continues where it was.
    """
    from tent.data.data_folder import data_folder
    from tent.data.make import make, output_folder
    from tent.data.sets import catalog

    known, at = catalog.get_set(name), data_folder(root)
    with _bar() as report:
        made = make(
            known,
            at,
            _split(types),
            _numbers(severities),
            split=split,
            seed=seed,
            workers=workers,
            frost=None if frost is None else str(frost),
            progress=report,
        )
    done = f"made {', '.join(made)}" if made else "already there"
    typer.echo(f"{known.name}: {done}, in {output_folder(known, at, split)}")


@contextmanager
def _bar() -> Iterator["Report"]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        tasks: dict[str, int] = {}

        def report(what: str, done: int, total: int | None) -> None:
            stage = what.partition(" ")[0] if what.startswith("making") else what  # files of one run share a bar
            if what.startswith("fetching") and total:
                what = f"{what} ({_amount(total)})"
            if stage not in tasks:
                tasks[stage] = bar.add_task(what, total=total)
            bar.update(tasks[stage], description=what, completed=done, total=total)  # type: ignore[arg-type]

        yield report


def _pieces(there: list[str]) -> str:
    if len(there) <= 3:
        return ", ".join(there) or "no"
    types = {piece.split()[0].rstrip("_12345") for piece in there}  # a severity made alone is of its type
    made = {piece.split()[0].rstrip("_12345") for piece in there if piece.endswith("(made)")}
    return f"{len(types)} types" + (f", {len(made)} of them made here" if made else "")


def _amount(size: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in _split(text)]
    except ValueError:
        raise ValueError(f"--severities {text!r}: give numbers from 1 to 5, with commas") from None
