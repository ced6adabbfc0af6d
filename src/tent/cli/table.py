"""`tent table`: a suite's results as a table, in the terminal and as files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table as Shown
from rich.text import Text

from tent.cli.bench import parse_seeds

if TYPE_CHECKING:
    from tent.bench.read.grid import Grid
    from tent.bench.read.reading import Wanted
    from tent.bench.render.table import Piece, Table

Suite = Annotated[str, typer.Argument(help="A suite that `tent bench` lists.")]
Store = Annotated[Path, typer.Option(help="Folder of results, one file a case.")]
Seeds = Annotated[str | None, typer.Option(help="Seeds, with commas; all that have results unless given.")]
Limit = Annotated[int | None, typer.Option(help="Of results that were made with this --limit.", min=1)]
Model = Annotated[str | None, typer.Option(help="Of results of this model in place of the suite's own.")]
Weights = Annotated[
    list[str] | None, typer.Option(help="How the hash of the weights begins, if there are several; may be repeated.")
]

COMPUTE = "What the answers cost instead: images forward and backward, and seconds, with training."

Column = tuple[Text, ...]  # a head, and a field a line


def table(
    suite: Suite,
    store: Store = Path("results"),
    seeds: Seeds = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write Markdown, CSV and LaTeX to.")] = None,
    weights: Weights = None,
    limit: Limit = None,
    model: Model = None,
    compute: Annotated[bool, typer.Option("--compute", help=COMPUTE)] = False,
) -> None:
    """Show a suite's results as a table, ours beside the paper's; no model is run."""
    from tent.bench.read.costs import costs
    from tent.bench.render.table import table as laid_out

    grid = found(suite, store, asked(seeds, weights, limit, model))
    made = costs(grid) if compute else laid_out(grid)
    console = Console()
    console.print(drawn(made, console.width))
    if out is not None:
        for path in written(grid, made, out):
            typer.echo(f"written: {path}")


def asked(seeds: str | None, weights: list[str] | None, limit: int | None, model: str | None) -> "Wanted":
    """Return which results a command was told to read."""
    from tent.bench.read.reading import Wanted

    return Wanted(() if seeds is None else tuple(parse_seeds(seeds)), limit, tuple(weights or ()), model or "")


def found(suite: str, store: Path, wanted: "Wanted") -> "Grid":
    """Return a suite's grid from a store; what is damaged there is said and passed over."""
    from tent.bench.read.reading import opened, read
    from tent.bench.suites import named

    chosen = named(suite)
    results, damaged = opened(store)
    for line in damaged:
        typer.echo(f"tent: {line}", err=True)
    return read(chosen, results, wanted)


def written(grid: "Grid", made: "Table", folder: Path) -> list[Path]:
    """Write the table's forms, each beside and then renamed, and return the files."""
    from tent.bench.render.latex import latex
    from tent.bench.render.markdown import markdown
    from tent.bench.render.sheet import sheet
    from tent.files import atomic_write

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for ending, text in (("md", markdown(made)), ("csv", sheet(grid)), ("tex", latex(made))):
        paths.append(folder / f"{made.name}.{ending}")
        with atomic_write(paths[-1]) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")
    return paths


def drawn(made: "Table", width: int) -> Group:
    """Return a table as rich shows it, in parts one under another where it is too wide, with all that is said below."""
    from tent.bench.render.caption import caption, remarks

    heads = Text(made.corner), *(Text(line.head) for line in made.lines)
    columns = [
        (Text(head), *(_text(line.pieces[i]) for line in made.lines)) for i, head in enumerate(made.heads)
    ]  # the first of each is its head
    parts = [_part(made, heads, own) for own in fitting(columns, width - max(map(len, heads)) - 4)]
    notes = [f"{number}: {note}" for number, note in enumerate(made.notes, 1)]
    said = (Padding(Text(line), (0, 1)) for line in (*notes, caption(made), *remarks(made)))
    return Group(Text(made.title, "bold"), *parts, *said)


def fitting(columns: list[Column], width: int) -> list[list[Column]]:
    """Share columns out in as many parts as are needed for each to fit a width; a column is never split."""
    parts: list[list[Column]] = [[]]
    free = width
    for column in columns:
        needed = max(len(text) for text in column) + 3  # its rule and its margins
        if needed > free and parts[-1]:
            parts.append([])
            free = width
        parts[-1].append(column)
        free -= needed
    return parts


def _part(made: "Table", heads: Column, columns: list[Column]) -> Shown:
    shown = Shown()
    for column in (heads, *columns):
        shown.add_column(column[0], justify="left" if column is heads else "right")
    for i, line in enumerate(made.lines, 1):
        if line.ruled:
            shown.add_section()
        shown.add_row(*(column[i] for column in (heads, *columns)))
    return shown


def _text(piece: "Piece") -> Text:
    style = "bold" if piece.bold else {"paper": "italic", "missing": "red", "failed": "red"}.get(piece.kind, "")
    text = Text(piece.text, style)
    if piece.spread:
        text.append(f"±{piece.spread}", "dim")  # without spaces, where a narrow terminal would break it
    return text.append(f" [{','.join(str(note) for note in piece.notes)}]", "dim") if piece.notes else text
