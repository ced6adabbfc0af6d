"""From words on the command line to objects: methods, statistics, progress."""

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tent.environment import duration

if TYPE_CHECKING:
    from tent.data.stream import Batch
    from tent.method import Method
    from tent.models.own_preprocess import PreprocessChoice
    from tent.norm import Stats

MODEL = (
    "A shipped model (r26-cifar10, r26-cifar100, r26w2-cifar10, r26-svhn, r26-mnist), densenet-cifar10, "
    "densenet-cifar100, trained:NAME or trained:FOLDER of `tent train`, timm:NAME, torchvision:NAME, hf:NAME, "
    "robustbench:NAME, efficientnet-lite:0, 1 or 2, hrnet-w18, hrnet-w18-small-v1 or -v2 with --weights, or "
    "FILE.py:factory."
)
METHOD = (
    "tent, source, bn, cmf, cotta, deyo, eata, eta, lame, memo, pl, rdumb, roid, rotta, sar, shot, t3a, ttt, or "
    "FILE.py:Class; options follow a colon: pl:0.9, ttt:copies=32,mirror=true."
)
DEVICE = "cpu, cuda, cuda:N or mps; cuda where there is one, else cpu, if not given."
PRECISION = "Of convolutions and products: float32, bfloat16, or float16 on GPUs."


def _step(help: str) -> Any:
    return typer.Option(help=help, rich_help_panel="Preprocessing")


Size = Annotated[str | None, _step("Shorter side in pixels, or HEIGHTxWIDTH exactly.")]
Crop = Annotated[str | None, _step("Centre that is kept: a side, or HEIGHTxWIDTH.")]
Mean = Annotated[str | None, _step("Of each channel, on a scale of 0 to 1: 0.485,0.456,0.406.")]
Std = Annotated[str | None, _step("Deviation of each channel: 0.229,0.224,0.225.")]
Interpolation = Annotated[str | None, _step("bilinear, bicubic, nearest, lanczos, box or hamming.")]
Like = Annotated[str | None, _step("Prepare images as for timm:NAME, torchvision:NAME, hf:NAME, efficientnet-lite:0.")]
GAP = 30.0  # seconds between lines of progress, where there is no terminal
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

    return None if word is None else norm.by_name(word)


def parse_size(option: str, text: str | None) -> "int | tuple[int, int] | None":
    """Return one side, or a height and a width, in pixels."""
    if text is None:
        return None
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)?", text):
        raise ValueError(f"{option} takes pixels such as 224, or 224x320 (height x width); got {text!r}")
    sides = [int(side) for side in text.split("x")]
    return sides[0] if len(sides) == 1 else (sides[0], sides[1])


def parse_preprocess(
    size: str | None, crop: str | None, mean: str | None, std: str | None, interpolation: str | None
) -> "PreprocessChoice":
    """Return the steps that a user chose in place of the model's own."""
    from tent.models.own_preprocess import PreprocessChoice

    sides = parse_size("--size", size), parse_size("--crop", crop)
    return PreprocessChoice(*sides, parse_three("--mean", mean), parse_three("--std", std), interpolation)


def parse_three(option: str, text: str | None) -> tuple[float, ...] | None:
    """Return a number for each of three channels; one alone is for all of them."""
    if text is None:
        return None
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if len(values) not in (1, 3):
        raise ValueError(f"{option} takes three numbers such as 0.485,0.456,0.406, or one for all; got {text!r}")
    return values * 3 if len(values) == 1 else values


def say(line: str) -> None:
    """Print a line on standard error, beside what a program may read from standard output."""
    print(" ".join(line.split()), file=sys.stderr, flush=True)


def track(batches: "Iterable[Batch]", what: str, count: int) -> "Iterator[Batch]":
    """Show progress and the remaining time, on standard error, while batches go by."""
    if not sys.stderr.isatty():
        yield from _say_progress(batches, what, count)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield from progress.track(batches, total=count, description=what)


def _say_progress(batches: "Iterable[Batch]", what: str, count: int) -> "Iterator[Batch]":
    """Say how far it is twice a minute, for logs."""
    began = said = monotonic()
    for number, batch in enumerate(batches, 1):
        yield batch
        now = monotonic()
        if now - said >= GAP:
            left = (now - began) / number * max(count - number, 0)
            say(f"{what}: {number:,} of {count:,} batches, about {duration(left)} left")
            said = now


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
