"""All commands under one name, and what happens to their errors."""

import sys
from collections.abc import Sequence

import typer

from tent.cli import adapt, data, demo, doctor, train

app = typer.Typer(
    name="tent",
    help="Test-time adaptation for any PyTorch model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(adapt.adapt)
app.command()(doctor.doctor)
app.command("train")(train.command)
app.add_typer(data.app, name="data")


def run(arguments: Sequence[str]) -> None:
    """Call the command that the arguments name; what a user can mend is said in one line."""
    try:
        app(list(arguments))
    except (ValueError, OSError, ImportError) as error:
        print(f"tent: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
