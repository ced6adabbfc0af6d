"""`tent adapt`: a practitioner's run, on any model and any data."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tent.cli.choices import method_of, stats_of, tracked

if TYPE_CHECKING:
    from tent.data.images import Images
    from tent.models.entry import Entry


def adapt(
    model: Annotated[str, typer.Argument(help="A shipped model, timm:NAME, torchvision:NAME, hf:NAME or FILE.py:factory.")],
    data: Annotated[str, typer.Argument(help="A folder of images, IMAGES.npy[,LABELS.npy], or a set of `tent data`.")],
    out: Annotated[Path, typer.Option(help="Folder that the results are written to.")] = Path("adapted"),
    method: Annotated[str, typer.Option(help="source, bn, pl[:threshold] or tent.")] = "tent",
    stats: Annotated[str | None, typer.Option(help="source, batch, blend:W, prior:N or running:M; the method's own if not given.")] = None,
    epochs: Annotated[int, typer.Option(help="Offline: learn from this many passes first, then answer. 0: online.", min=0)] = 0,
    episodic: Annotated[bool, typer.Option("--episodic", help="Go back to the source before every batch (of one image).")] = False,
    steps: Annotated[int, typer.Option(help="Updates on each batch.", min=1)] = 1,
    lr: Annotated[float | None, typer.Option(help="Learning rate; the method's own if not given.")] = None,
    batch: Annotated[int | None, typer.Option(help="Images a batch: 128, or 1 with --episodic.", min=1)] = None,
    shuffle: Annotated[int | None, typer.Option(help="Seed to shuffle by; as stored if not given.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many images.", min=1)] = None,
    corruption: Annotated[str | None, typer.Option(help="Type, for a set such as cifar10-c.")] = None,
    severity: Annotated[int | None, typer.Option(help="Severity, 1 to 5, for a set such as cifar10-c.")] = None,
    weights: Annotated[Path | None, typer.Option(help="Weights in place of the model's own: safetensors or a state_dict.")] = None,
    delta: Annotated[Path | None, typer.Option(help="A saved delta to start from.")] = None,
    bake: Annotated[Path | None, typer.Option(help="Write the baked model, exported: .pt2 (torch.export) or .onnx.")] = None,
    table: Annotated[str, typer.Option(help="Format of the predictions: csv or parquet.")] = "csv",
) -> None:
    """Adapt a model to data, and write predictions, the delta, a summary and a plot."""
    import tent
    from tent.data import Stream
    from tent.models import zoo
    from tent.runs.adaptation import protocol, record
    from tent.runs.export import baked_to, format_of
    from tent.runs.plot import plot
    from tent.runs.predictions import write_predictions
    from tent.whole import whole

    if table not in ("csv", "parquet"):
        raise ValueError(f"--table is csv or parquet, got {table!r}")
    if bake:
        format_of(bake)
    if epochs and episodic:
        raise ValueError("--epochs and --episodic exclude each other: learn from all images first, or from each for itself")
    entry, images = zoo.load(model, weights), opened(data, corruption, severity)
    stream = Stream(images, batch or (1 if episodic else 128), shuffle, entry.preprocess)
    stream = stream.first(min(limit, stream.total)) if limit else stream
    answers = "after" if episodic and steps == 1 else "before"
    adapted = tent.adapt(entry.model, method_of(method), stats=stats_of(stats), lr=lr, steps=steps, episodic=episodic, answers=answers)
    if delta:
        adapted.load_delta(delta)
    kept = record(entry, adapted, stream, epochs, tracked)
    summary = {**kept.summary(), "protocol": protocol(entry, adapted, stream, epochs)}
    out.mkdir(parents=True, exist_ok=True)
    write_predictions(kept, stream, out / f"predictions.{table}")
    adapted.delta().save(out / "delta.safetensors")
    plot(kept, f"{entry.name} on {stream.name}: {adapted.engine.method}", out / "summary.png")
    if bake:
        baked_to(adapted, stream, bake)
    with whole(out / "summary.json") as beside:
        beside.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    show(summary, out)


def opened(data: str, corruption: str | None, severity: int | None) -> "Images":
    """Return the images of a path or of a set's name."""
    from tent.data import load

    options: dict[str, Any] = {"corruption": corruption, "severity": severity}
    options = {name: value for name, value in options.items() if value is not None}
    if Path(data).is_dir():
        return load(f"folder:{data}", **options)
    if data.split(",")[0].endswith(".npy"):
        return load(f"npy:{data}", **options)
    return load(data, **options)


def show(summary: dict[str, Any], out: Path) -> None:
    """Print the run in numbers."""
    grid = Table("", "source", "adapted", title=summary["protocol"]["data"], caption=f"written to {out}")
    grid.add_row("mean entropy (nats)", f"{summary['entropy_before']:.3f}", f"{summary['entropy_after']:.3f}")
    if "error_after" in summary:
        grid.add_row("error (%)", f"{100 * summary['error_before']:.2f}", f"{100 * summary['error_after']:.2f}")
    most = [max(summary[name], key=summary[name].get) for name in ("histogram_before", "histogram_after")]
    grid.add_row("answered most", *most)
    grid.add_row("answers changed", "", f"{summary['changed']:.1%} of {summary['images']:,}")
    grid.add_row("learnt from, passed over", "", f"{summary['protocol']['updates']}, {summary['protocol']['skipped']} batches")
    Console().print(grid)
