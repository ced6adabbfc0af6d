"""`tent analyse`: the paper's figures, of any model and data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tent.cli import choices
from tent.cli.adapt import CLASSES, DATA, EPOCHS, ORDER, STATS, WEIGHTS
from tent.cli.choices import (
    DEVICE,
    METHOD,
    MODEL,
    Crop,
    Interpolation,
    Like,
    Mean,
    Size,
    Std,
    parse_method,
    parse_preprocess,
    parse_stats,
    track,
)

FIGURE = (
    "Some of error-by-entropy, loss-by-level, error-by-type, change-of-loss, calibration, confusion, movement, stream "
    "and features, with commas; not given: all that the data allow."
)
CORRUPTION = "Types, with commas, of a set such as cifar10-c; not given: the benchmark's fifteen."
CLEAN = "The original data, a folder or a set; not given: what a set such as cifar10-c was made from."
LAYERS = "A number of norm layers, evenly spaced, or names (with a comma)."
PAIRED = "Row i of the data and of --clean show the same image: features are compared image by image."
PANELS = ("Figures", "Images", "Method")


def _option(panel: int, help: str, **more: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=PANELS[panel], **more)


def analyse(
    model: Annotated[str, typer.Argument(help=MODEL)],
    data: Annotated[str, typer.Argument(help=DATA)],
    figure: Annotated[str | None, _option(0, FIGURE)] = None,
    out: Annotated[Path, _option(0, "Folder that pictures and numbers are written to.")] = Path("analysis"),
    layers: Annotated[str, _option(0, LAYERS)] = "9",
    clean: Annotated[str | None, _option(1, CLEAN)] = None,
    paired: Annotated[bool, typer.Option("--paired", help=PAIRED, rich_help_panel=PANELS[1])] = False,
    corruption: Annotated[str | None, _option(1, CORRUPTION)] = None,
    severity: Annotated[str | None, _option(1, "Levels, 1 to 5, with commas; not given: all five.")] = None,
    limit: Annotated[int | None, _option(1, "Only the first so many images of each type and level.", min=1)] = None,
    batch: Annotated[int, _option(1, "Images a batch.", min=1)] = 128,
    order: Annotated[str | None, _option(1, ORDER)] = None,
    seed: Annotated[int, _option(1, "Seed to shuffle by.", min=0)] = 0,
    classes: Annotated[str | None, _option(1, CLASSES)] = None,
    unlabelled: Annotated[
        bool, typer.Option("--unlabelled", help="Take no labels from folders or files.", rich_help_panel=PANELS[1])
    ] = False,
    method: Annotated[str, _option(2, METHOD)] = "tent",
    epochs: Annotated[int, _option(2, EPOCHS, min=0)] = 0,
    lr: Annotated[float | None, _option(2, "Learning rate; the method's own if not given.")] = None,
    stats: Annotated[str | None, _option(2, STATS)] = None,
    weights: Annotated[Path | None, _option(2, WEIGHTS)] = None,
    device: Annotated[str | None, _option(2, DEVICE)] = None,
    size: Size = None,
    crop: Crop = None,
    mean: Mean = None,
    std: Std = None,
    interpolation: Interpolation = None,
    like: Like = None,
) -> None:
    """Draw what a model predicts before and after adaptation: the paper's figures, and more, with their numbers.

    Each type of corruption at each level is a stream of its own, answered from the source model each time: online, or
    offline with --epochs.
    """
    from tent.apps.analyse import Analysis
    from tent.apps.run_data import DataChoice

    analysis = Analysis(
        model,
        DataChoice(data, None, order, seed, limit, classes, unlabelled),
        parse_method(method),
        out,
        figures=_split(figure),
        corruptions=_split(corruption),
        severities=tuple(_parse_level(word) for word in _split(severity)),
        clean=clean,
        paired=paired,
        layers=int(layers) if layers.isdecimal() else _split(layers),
        batch=batch,
        epochs=epochs,
        lr=lr,
        stats=parse_stats(stats),
        weights=weights,
        preprocess=parse_preprocess(size, crop, mean, std, interpolation),
        like=like,
        device=device,
    )
    for name, files in analysis.run(track, choices.say).items():
        typer.echo(f"{name}: {', '.join(file.name for file in files)}")
    typer.echo(f"written to: {out}")


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))


def _parse_level(word: str) -> int:
    if word not in ("1", "2", "3", "4", "5"):
        raise ValueError(f"--severity takes levels from 1 to 5, such as 1,3,5; got {word!r}")
    return int(word)
