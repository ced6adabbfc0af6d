"""All commands under one name, and what happens to their errors."""

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

import tent
from tent.cli import adapt, analyse, bench, data, demo, doctor, plot, table, train
from tent.environment import keep_memory

app = typer.Typer(
    name="tent",
    help="Test-time adaptation for any PyTorch model.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tent {tent.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Test-time adaptation for any PyTorch model."""


app.command()(demo.demo)
app.command()(adapt.adapt)
app.command()(doctor.doctor)
app.command()(analyse.analyse)
app.command()(bench.bench)
app.command()(table.table)
app.command()(plot.plot)
app.command()(plot.report)
app.command("train")(train.command)
app.add_typer(data.app, name="data")


def run(arguments: Sequence[str]) -> None:
    """Call the command that the arguments name; what a user can mend is said in one line."""
    keep_memory()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = app(list(arguments) or ["--help"], standalone_mode=False)
    except typer.Abort:
        _end("stopped", 130)
    except (ValueError, OSError, ImportError) as error:
        _end(str(error))
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        # the parser's own error, whose class has moved between typer's versions
        where = getattr(getattr(error, "ctx", None), "command_path", "tent")
        _end(f"{error.format_message().rstrip('.')}; see: {where} --help")
    sys.exit(int(code or 0))


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    print(f"warning: {' '.join(str(message).removeprefix('tent: ').split())}", file=sys.stderr)


def _end(message: str, code: int = 2) -> NoReturn:
    print(f"tent: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
