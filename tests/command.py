"""The command, run inside the test's own process: a new one would spend seconds on importing torch."""

import contextlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tent.cli.app import run


@dataclass
class Ran:
    returncode: int
    stdout: str
    stderr: str


@contextlib.contextmanager
def chdir(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def tent(folder: Path, *arguments: str) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    quiet = patch("tent.cli.choices.GAP", float("inf"))  # no lines of progress, whose number depends on the machine
    with chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), quiet:
        try:
            run(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
    return Ran(code, out.getvalue(), err.getvalue())
