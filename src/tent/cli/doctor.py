"""`tent doctor`: what would go wrong with a model, and what to do about it."""

from pathlib import Path
from typing import Annotated

import typer

from tent.cli.choices import DEVICE, MODEL, PRECISION


def doctor(
    model: Annotated[str, typer.Argument(help=MODEL)],
    input: Annotated[
        str, typer.Option(help="Shape of a batch to try a step on, such as 8,3,224,224; none: the model alone.")
    ] = "the model's own",
    weights: Annotated[Path | None, typer.Option(help="Safetensors, or a state_dict saved by torch.")] = None,
    device: Annotated[str | None, typer.Option(help=DEVICE)] = None,
    precision: Annotated[str, typer.Option(help=PRECISION)] = "float32",
) -> None:
    """Examine a model: what there is to adapt, and every finding with its remedy."""
    import torch

    import tent
    from tent.doctor.example_input import example_input
    from tent.environment import choose_device
    from tent.models import zoo

    place, entry = choose_device(device), zoo.load(model, weights, pretrained=False)
    if input == "none":
        inputs = []
    elif input == "the model's own":
        inputs = [example_input(entry.model, entry.preprocess.crop or entry.preprocess.size)]
    elif all(size.strip().isdigit() for size in input.split(",")):
        inputs = [torch.randn([int(size) for size in input.split(",")])]
    else:
        raise ValueError(f"--input takes a shape such as 8,3,224,224, or none; got {input!r}")
    net, inputs = entry.model.to(place), [each.to(place) for each in inputs]
    report = tent.doctor(net, *inputs)
    if precision != "float32" and report.ok:
        tent.adapt(net, precision=precision)(*inputs)  # type: ignore[arg-type]  # which says what there is
    print(report)
    raise typer.Exit(0 if report.ok else 1)
