"""From words on the command line to objects: methods, statistics, progress."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from tent.data.stream import Batch
    from tent.method import Method
    from tent.norm import Stats

MODEL = (
    "A shipped model (r26-cifar10, r26-svhn, r26-mnist), trained:NAME or trained:FOLDER of `tent train`, timm:NAME, "
    "torchvision:NAME, hf:NAME or FILE.py:factory."
)


def method_of(word: str) -> "Method":
    """Return a method by its name, such as tent, or with an option, such as pl:0.8 or ttt:32."""
    from tent.methods import METHODS, PL, TTT

    name, _, option = word.partition(":")
    if name not in METHODS:
        raise ValueError(f"no method {name!r}; there are {', '.join(METHODS)}")
    if not option:
        return METHODS[name]()
    if METHODS[name] is PL:
        return PL(_number(word, option))
    if METHODS[name] is TTT:
        return TTT(copies=_whole(word, option))
    raise ValueError(f"{name} takes no option, got {option!r}")


def stats_of(word: str | None) -> "Stats | None":
    """Return statistics by their name, if one is given."""
    from tent import norm

    return None if word is None else norm.named(word)


def tracked(batches: "Iterable[Batch]", what: str, count: int) -> "Iterator[Batch]":
    """Show a bar and the remaining time, on standard error, while batches go by."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield from progress.track(batches, total=count, description=what)


def _number(word: str, option: str) -> float:
    try:
        return float(option)
    except ValueError:
        raise ValueError(f"{word!r}: {option!r} is not a number") from None


def _whole(word: str, option: str) -> int:
    if not option.isdecimal():
        raise ValueError(f"{word!r}: {option!r} is not a whole number")
    return int(option)
