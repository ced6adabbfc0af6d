"""`tent adapt`: a practitioner's run, on any model and any data."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tent.cli.choices import METHOD, MODEL, parse_method, parse_stats, track

DATA = "A folder of images, IMAGES.npy[,LABELS.npy], or a set that `tent data` lists."
STATS = "source, batch, blend:W, prior:N or running:M; the method's own if not given."
EPOCHS = "Offline: learn from so many passes first, then answer. 0: online."
WEIGHTS = "Weights in place of the model's own: safetensors, or a state_dict."


def adapt(
    model: Annotated[str, typer.Argument(help=MODEL)],
    data: Annotated[str, typer.Argument(help=DATA)],
    out: Annotated[Path, typer.Option(help="Folder that the results are written to.")] = Path("adapted"),
    method: Annotated[str, typer.Option(help=METHOD)] = "tent",
    stats: Annotated[str | None, typer.Option(help=STATS)] = None,
    epochs: Annotated[int, typer.Option(help=EPOCHS, min=0)] = 0,
    episodic: Annotated[bool, typer.Option("--episodic", help="Every image for itself; with --steps.")] = False,
    steps: Annotated[int, typer.Option(help="Updates on each batch.", min=1)] = 1,
    lr: Annotated[float | None, typer.Option(help="Learning rate; the method's own if not given.")] = None,
    batch: Annotated[int | None, typer.Option(help="Images a batch: 128, or 1 with --episodic.", min=1)] = None,
    shuffle: Annotated[int | None, typer.Option(help="Seed to shuffle by; as stored if not given.", min=0)] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many images.", min=1)] = None,
    corruption: Annotated[str | None, typer.Option(help="Type, for a set such as cifar10-c.")] = None,
    severity: Annotated[int | None, typer.Option(help="Severity, 1 to 5, for a set such as cifar10-c.")] = None,
    weights: Annotated[Path | None, typer.Option(help=WEIGHTS)] = None,
    delta: Annotated[Path | None, typer.Option(help="A saved delta to start from.")] = None,
    bake: Annotated[Path | None, typer.Option(help="Export the baked model: .pt2 (torch.export) or .onnx.")] = None,
    table: Annotated[str, typer.Option(help="Format of the predictions: csv or parquet.")] = "csv",
) -> None:
    """Adapt a model to data, and write predictions, the delta, a summary and a plot."""
    from tent.apps.adapt import Job
    from tent.data.order import Shuffled, Stored

    options = {"corruption": corruption, "severity": severity}
    job = Job(
        model,
        data,
        parse_method(method),
        out,
        stats=parse_stats(stats),
        epochs=epochs,
        episodic=episodic,
        steps=steps,
        lr=lr,
        batch=batch,
        order=Stored() if shuffle is None else Shuffled(shuffle),
        limit=limit,
        options={name: value for name, value in options.items() if value is not None},
        weights=weights,
        delta=delta,
        bake=bake,
        table=table,
    )
    print_summary(job.run(track), out)


def print_summary(summary: dict[str, Any], out: Path) -> None:
    """Print the run in numbers."""
    title = escape(summary["protocol"]["data"])  # which has brackets, and those are markup to rich
    grid = Table("", "source", "adapted", title=title, caption=escape(f"written to {out}"))
    grid.add_row("mean entropy (nats)", f"{summary['entropy_before']:.3f}", f"{summary['entropy_after']:.3f}")
    if "error_after" in summary:
        grid.add_row("error (%)", f"{100 * summary['error_before']:.2f}", f"{100 * summary['error_after']:.2f}")
    most = [max(summary[name], key=summary[name].get) for name in ("histogram_before", "histogram_after")]
    grid.add_row("answered most", *map(escape, most))
    grid.add_row("answers changed", "", f"{summary['changed']:.1%} of {summary['images']:,}")
    grid.add_row("batches updated on", "", f"{summary['updates']:,}, {summary['skipped']:,} skipped")
    Console().print(grid)
