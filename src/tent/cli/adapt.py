"""`tent adapt`: a practitioner's run, on any model and any data."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tent.cli import choices
from tent.cli.choices import (
    DEVICE,
    METHOD,
    MODEL,
    PRECISION,
    Crop,
    Interpolation,
    Like,
    Mean,
    Size,
    Std,
    parse_method,
    parse_preprocess,
    parse_size,
    parse_stats,
    track,
)

DATA = (
    "A folder of images, IMAGES.npy[,LABELS.npy], pairs:IMAGES,LABELS[,CLASSES.json] of images and label maps, or "
    "a set that `tent data` lists."
)
STATS = "source, batch, blend:W, prior:N or running:M; the method's own, or what suits small batches, if not given."
EPOCHS = "Offline: learn from so many passes first, then answer. 0: online."
WEIGHTS = "Weights in place of the model's own: safetensors, or a state_dict."
ORDER = "stored, shuffled or time; not given: frames by number, other files and sets shuffled, arrays as stored."
CLASSES = "What the model's outputs are called: a file of one name a line, or JSON; or `sorted`: as the folders sort."
SOURCE = "Images like those of the training, for methods that need some: a folder or a set."
MAPS_ONLY = "Draw these as label maps alone, without the images, which overlays/ still shows."
PANELS = ("Images", "Method", "Results")


def _option(panel: int, help: str, **more: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=PANELS[panel], **more)


def _switch(panel: int, name: str, help: str) -> Any:
    return typer.Option(name, help=help, rich_help_panel=PANELS[panel])


def adapt(
    model: Annotated[str, typer.Argument(help=MODEL)],
    data: Annotated[str, typer.Argument(help=DATA)],
    order: Annotated[str | None, _option(0, ORDER)] = None,
    seed: Annotated[int, _option(0, "Seed to shuffle by.", min=0)] = 0,
    batch: Annotated[
        int | None, _option(0, "Images a batch: 128; 1 with --episodic, or for segmentation.", min=1)
    ] = None,
    tile: Annotated[str | None, _option(0, "Segmentation in tiles of HEIGHTxWIDTH, which fit in memory.")] = None,
    limit: Annotated[int | None, _option(0, "Only the first so many images.", min=1)] = None,
    classes: Annotated[str | None, _option(0, CLASSES)] = None,
    unlabelled: Annotated[bool, _switch(0, "--unlabelled", "Take no labels from folders or files.")] = False,
    strict: Annotated[bool, _switch(0, "--strict", "Stop at an image that cannot be read; left out if not.")] = False,
    corruption: Annotated[str | None, _option(0, "Type, for a set such as cifar10-c.")] = None,
    severity: Annotated[int | None, _option(0, "Severity, 1 to 5, for a set such as cifar10-c.")] = None,
    method: Annotated[str, _option(1, METHOD)] = "tent",
    stats: Annotated[str | None, _option(1, STATS)] = None,
    epochs: Annotated[int, _option(1, EPOCHS, min=0)] = 0,
    episodic: Annotated[bool, _switch(1, "--episodic", "Every image for itself; with --steps.")] = False,
    steps: Annotated[int, _option(1, "Updates on each batch.", min=1)] = 1,
    lr: Annotated[float | None, _option(1, "Learning rate; the method's own if not given.")] = None,
    weights: Annotated[Path | None, _option(1, WEIGHTS)] = None,
    delta: Annotated[Path | None, _option(1, "A saved delta to start from.")] = None,
    source_data: Annotated[str | None, _option(1, SOURCE)] = None,
    source_images: Annotated[int, _option(1, "How many of them are shown to the method.", min=1)] = 2000,
    device: Annotated[str | None, _option(1, DEVICE)] = None,
    precision: Annotated[str, _option(1, PRECISION)] = "float32",
    size: Size = None,
    crop: Crop = None,
    mean: Mean = None,
    std: Std = None,
    interpolation: Interpolation = None,
    like: Like = None,
    out: Annotated[Path, _option(2, "Folder that the results of one run are written to.")] = Path("adapted"),
    overwrite: Annotated[bool, _switch(2, "--overwrite", "Replace another run's results in that folder.")] = False,
    every: Annotated[float, _option(2, "Seconds between checkpoints, to continue from after a kill.", min=0)] = 30.0,
    bake: Annotated[Path | None, _option(2, "Export the baked model: .pt2 (torch.export) or .onnx.")] = None,
    panels: Annotated[int, _option(2, "Images of a segmentation run that are drawn along ten iterations.", min=0)] = 4,
    maps_only: Annotated[bool, _switch(2, "--maps-only", MAPS_ONLY)] = False,
    table: Annotated[str, _option(2, "Format of the predictions: csv or parquet.")] = "csv",
) -> None:
    """Adapt a model to data, and write predictions, the delta, a summary and a plot.

    A run that was killed continues, to the same bits, when its command is given again.
    """
    from tent.apps.adapt import Job
    from tent.apps.run_data import DataChoice

    options = {"corruption": corruption, "severity": severity}
    given = {name: value for name, value in options.items() if value is not None}
    job = Job(
        model,
        DataChoice(data, given, order, seed, limit, classes, unlabelled, strict),
        parse_method(method),
        out,
        stats=parse_stats(stats),
        epochs=epochs,
        episodic=episodic,
        steps=steps,
        lr=lr,
        batch=batch,
        weights=weights,
        delta=delta,
        bake=bake,
        table=table,
        preprocess=parse_preprocess(size, crop, mean, std, interpolation),
        like=like,
        device=device,
        precision=precision,
        overwrite=overwrite,
        source_data=source_data,
        source_images=source_images,
        every=every,
        tile=parse_tile(tile),
        panels=panels,
        maps_only=maps_only,
    )
    print_summary(job.run(track, choices.say), out)


def parse_tile(text: str | None) -> tuple[int, int] | None:
    """Read `--tile`: one side, or a height and a width."""
    sides = parse_size("--tile", text)
    return (sides, sides) if isinstance(sides, int) else sides


def print_summary(summary: dict[str, Any], out: Path) -> None:
    """Print the run in numbers, and what they depend on."""
    words = dict(summary["protocol"])
    prepared = words["preprocessing"].rpartition(" (")[0]
    words["data"] = words["data"].replace(f"; {prepared}", "")  # which has a line of its own
    grid = Table("", "source", "adapted", title=escape(words["model"]))  # brackets are markup to rich
    grid.add_row("mean entropy (nats)", f"{summary['entropy_before']:.3f}", f"{summary['entropy_after']:.3f}")
    if "error_after" in summary:
        grid.add_row("error (%)", f"{100 * summary['error_before']:.2f}", f"{100 * summary['error_after']:.2f}")
    if "mean_iou_after" in summary:
        miou = f"mIoU (%), {summary.get('mean_iou_class_count', len(summary['iou_after']))} classes"
        for name, title in (("mean_iou", miou), ("pixel_accuracy", "pixel accuracy (%)")):
            grid.add_row(title, *(f"{100 * summary[f'{name}_{when}']:.2f}" for when in ("before", "after")))
    most = [max(summary[name], key=summary[name].get) for name in ("histogram_before", "histogram_after")]
    grid.add_row("answered most", *map(escape, most))
    grid.add_row("answers changed", "", f"{summary['changed']:.1%} of {summary['images']:,}")
    grid.add_row("batches updated on", "", f"{summary['updates']:,}, {summary['skipped']:,} skipped")
    Console().print(grid)
    for name in ("data", "method", "statistics", "preprocessing"):
        typer.echo(f"{name + ':':<15} {words[name]}")
    if summary["unreadable"]:
        typer.echo(f"{'left out:':<15} {len(summary['unreadable'])} images that cannot be read; the summary lists them")
    typer.echo(f"{'written to:':<15} {out}")
