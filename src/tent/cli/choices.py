"""From words on the command line to objects: methods, statistics, progress."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from tent.data.stream import Batch
    from tent.method import Method
    from tent.norm import Stats

MODEL = (
    "A shipped model (r26-cifar10, r26-svhn, r26-mnist), densenet-cifar10, densenet-cifar100, trained:NAME or "
    "trained:FOLDER of `tent train`, timm:NAME, torchvision:NAME, hf:NAME, robustbench:NAME or FILE.py:factory."
)
METHOD = "source, bn, pl, tent, ttt or FILE.py:Class; options follow a colon: pl:0.9, ttt:copies=32,mirror=true."
SWITCH = {"true": True, "false": False}


def parse_method(word: str) -> "Method":
    """Return a method by NAME or FILE.py:Class, with :VALUE of its first option or :KEY=VALUE,... after it."""
    from tent.methods import find

    name, options = re.fullmatch(r"(.*\.py:[^:]*|[^:]*):?(.*)", word, re.DOTALL).groups()  # type: ignore[union-attr]
    method = find(name)
    try:
        return method(**_parse_options(name, method, options))
    except TypeError as error:
        raise ValueError(f"method {word!r}: {error}") from None


def parse_stats(word: str | None) -> "Stats | None":
    """Return statistics by their name, if one is given."""
    from tent import norm

    return None if word is None else norm.named(word)


def track(batches: "Iterable[Batch]", what: str, count: int) -> "Iterator[Batch]":
    """Show a bar and the remaining time, on standard error, while batches go by."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield from progress.track(batches, total=count, description=what)


def _parse_options(name: str, method: "type[Method]", text: str) -> dict[str, Any]:
    """Return the options in a text by their names; those that are no numbers or words are not for a command line."""
    defaults = {each.name: each.default for each in inspect.signature(method).parameters.values()}
    known = {key: None if value is inspect.Parameter.empty else value for key, value in defaults.items()}
    known = {key: value for key, value in known.items() if value is None or isinstance(value, int | float | str)}
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not known:
            raise ValueError(f"{name} takes no option, got {part!r}")
        if not equals:
            key, value = next(iter(known)), part
        if key not in known:
            raise ValueError(f"{name} has no option {key!r}; it has {', '.join(known)}")
        options[key] = _parse_value(f"{name}:{part}", value, known[key])
    return options


def _parse_value(word: str, text: str, default: Any) -> Any:
    """Return a value of the default's own type; where there is no default, a number or else the text."""
    parsers: dict[type, tuple[Callable[[str], Any], str]] = {
        bool: (lambda text: SWITCH[text.lower()], "true or false"),
        int: (int, "a whole number"),
        float: (float, "a number"),
        str: (str, "text"),
    }
    for parse, what in (
        [parsers[type(default)]] if default is not None else [parsers[int], parsers[float], parsers[str]]
    ):
        try:
            return parse(text)
        except (ValueError, KeyError):
            problem = f"{word!r}: {text!r} is not {what}"
    raise ValueError(problem)
