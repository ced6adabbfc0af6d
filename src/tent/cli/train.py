"""`tent train`: a source model from a labelled set."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from tent.train import Recipe, train
from tent.train.recipe import best_precision

DIGITS = {"mnist", "mnist_m", "svhn", "usps"}  # mirrored digits are no digits


def command(
    model: Annotated[str, typer.Option(help="Network: r26 or wrn-40-2.")],
    data: Annotated[str, typer.Option(help="Labelled set of the data folder, such as cifar10 or svhn.")],
    out: Annotated[Path, typer.Option(help="Folder for weights, card and checkpoint; a run found there goes on.")],
    epochs: Annotated[int, typer.Option(help="Passes over the training set.")] = 45,
    seed: Annotated[int, typer.Option(help="Seed of weights, order, crops and flips.")] = 0,
    batch: Annotated[int, typer.Option(help="Images a step.")] = 128,
    lr: Annotated[float, typer.Option(help="Peak learning rate.")] = 0.15,
    momentum: Annotated[float, typer.Option(help="Nesterov momentum.")] = 0.9,
    weight_decay: Annotated[float, typer.Option(help="Decay of weights; norms and biases have none.")] = 5e-4,
    schedule: Annotated[str, typer.Option(help="one-cycle or cosine.")] = "one-cycle",
    rise: Annotated[float, typer.Option(help="Share of one-cycle on the way up.")] = 0.2,
    crop: Annotated[int, typer.Option(help="Pixels of padding around a random crop.")] = 4,
    flip: Annotated[bool | None, typer.Option(help="Random flips; by default all but sets of digits.")] = None,
    precision: Annotated[str | None, typer.Option(help="bfloat16 or float32; by default what is fast here.")] = None,
    every: Annotated[float, typer.Option(help="Seconds between checkpoints inside an epoch.")] = 60.0,
) -> None:
    """Train a source model; a run that was killed goes on where it was, to the same bits."""
    recipe = Recipe(
        model=model,
        data=data,
        epochs=epochs,
        seed=seed,
        batch=batch,
        lr=lr,
        momentum=momentum,
        weight_decay=weight_decay,
        schedule=schedule,
        rise=rise,
        crop=crop,
        flip=data not in DIGITS if flip is None else flip,
        precision=precision or best_precision(torch.device("cpu")),
    )
    card = train(recipe, out, every=every)
    print(f"{out}: test error {card['test_error']:.2%} after {card['seconds']:.0f} s of training")
