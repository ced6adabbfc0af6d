"""`tent train`: a model from a labelled set, plainly or by a baseline that alters training."""

from pathlib import Path
from typing import Annotated

import typer

from tent.environment import choose_device
from tent.models import NETWORKS
from tent.models.cards import training_folder
from tent.train import Recipe, train
from tent.train.baseline import BASELINES, choose_network, make_objective, model_name
from tent.train.recipe import SCHEDULES, best_precision, may_flip

CARD = "Train nothing: add to the card of the training in this folder its errors on the held-out corruptions, under BN."


def command(
    model: Annotated[str, typer.Option(help=f"Network: {' or '.join(NETWORKS)}.", show_default="none")] = "",
    data: Annotated[
        str,
        typer.Option(
            "--source", "--data", help="Labelled set of the data folder, such as cifar10.", show_default="none"
        ),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for weights and card; a run that was killed there continues.",
            show_default="models/METHOD-SOURCE[-TARGET] in the data folder; none for method source",
        ),
    ] = None,
    method: Annotated[str, typer.Option(help=f"What is minimised: {', '.join(BASELINES)}.")] = "source",
    target: Annotated[
        str,
        typer.Option(
            help="Unlabelled images for rg and uda-ss: SET, SET:test, or SET:TYPE[:SEVERITY] of a corrupted set.",
            show_default="none",
        ),
    ] = Recipe.target,
    size: Annotated[
        int | None,
        typer.Option(help="Side that every image is resized to, before anything else.", show_default="as stored"),
    ] = Recipe.size,
    epochs: Annotated[int, typer.Option(help="Passes over the training set.")] = Recipe.epochs,
    seed: Annotated[int, typer.Option(help="Seed of the first weights, the order, crops and flips.")] = Recipe.seed,
    batch: Annotated[int, typer.Option(help="Images a step.")] = Recipe.batch,
    lr: Annotated[float, typer.Option(help="Peak learning rate.")] = Recipe.lr,
    momentum: Annotated[float, typer.Option(help="Nesterov momentum.")] = Recipe.momentum,
    weight_decay: Annotated[float, typer.Option(help="Of weights; norms and biases have none.")] = Recipe.weight_decay,
    schedule: Annotated[str, typer.Option(help=f"{' or '.join(SCHEDULES)}.")] = Recipe.schedule,
    rise: Annotated[float, typer.Option(help="Share of one-cycle that is spent on the way up.")] = Recipe.rise,
    hold: Annotated[float, typer.Option(help="Share of one-cycle that is spent at the peak.")] = Recipe.hold,
    crop: Annotated[int, typer.Option(help="Pixels of padding around a random crop; 0 for none.")] = Recipe.crop,
    flip: Annotated[bool | None, typer.Option(help="Random flips.", show_default="on, but off for digits")] = None,
    precision: Annotated[
        str | None, typer.Option(help="bfloat16 or float32.", show_default="what is fast here")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.", show_default="cuda where there is one")] = None,
    start: Annotated[
        str | None,
        typer.Option(help="Weights to start from: a file, or a shipped model's name.", show_default="random ones"),
    ] = None,
    every: Annotated[float, typer.Option(help="Seconds between checkpoints inside an epoch.")] = 60.0,
    card_of: Annotated[Path | None, typer.Option("--card", help=CARD, show_default="none")] = None,
) -> None:
    """Train a model on a labelled set; a run that was killed continues, to the same bits."""
    if card_of is not None:
        print_held_out(card_of)
        return
    if not model or not data:
        raise ValueError("name a network and a set, as in: tent train --model r26 --source cifar10 --out FOLDER")
    place, objective = choose_device(device), make_objective(method)
    recipe = Recipe(
        model=choose_network(method, model),
        data=data,
        epochs=epochs,
        seed=seed,
        batch=batch,
        lr=lr,
        momentum=momentum,
        weight_decay=weight_decay,
        schedule=schedule,
        rise=rise,
        hold=hold,
        crop=crop,
        flip=may_flip(data) if flip is None else flip,
        precision=precision or best_precision(place),
        size=size,
        target=target,
    )
    folder = out or default_folder(method, recipe)
    card = train(recipe, folder, objective=objective, start=start, device=place, every=every)
    on_target = f", {card['target_error']:.2%} on {card['target_test_set']}" if "target_error" in card else ""
    errors = f"error {card['test_error']:.2%} on {card['test_set']}{on_target}"
    print(f"{folder}: {errors}, {card['seconds']:.0f} s of training")


def print_held_out(folder: Path) -> None:
    """Add the errors on the held-out types to a card, and print them."""
    from tent.train.measure import add_held_out_errors

    found = add_held_out_errors(folder)["held_out"]
    errors = ", ".join(f"{name.replace('_', ' ')} {error:.2%}" for name, error in found["errors"].items())
    print(f"{folder}: error under BN {found['mean']:.2%}: {errors}")


def default_folder(method: str, recipe: Recipe) -> Path:
    """Return the folder of a baseline's model, where none is named: among the models in the data folder."""
    if method == "source":
        raise ValueError("no folder for the weights; name one with --out FOLDER")
    return training_folder(model_name(method, recipe.data, recipe.target, recipe.model))
