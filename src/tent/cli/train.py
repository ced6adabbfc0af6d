"""`tent train`: a model from a labelled set, plainly or by a baseline that alters training."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tent.cli.choices import parse_size
from tent.data.sets.catalog import get_set
from tent.environment import choose_device
from tent.models import NETWORKS, SCALED, SEGMENTERS, is_library_network, name_width
from tent.models.architectures.new_classifier import own_side
from tent.models.cards import training_folder, tuned_name
from tent.train import Recipe, train
from tent.train.baseline import BASELINES, choose_network, make_objective, model_name
from tent.train.recipe import OPTIMIZERS, SCHEDULES, best_precision, may_flip

TASKS = ("classification", "segmentation")
CROP, SCALES = "192x288", "0.5,1.25"  # of segmentation: about what one core learns from in an hour
SEGMENTING = {"epochs": 40, "batch": 8, "lr": 0.05, "crop": 0}  # an image is many samples, and --size crops it
TUNING = {"epochs": 10, "batch": 32, "lr": 0.01, "crop": 16}  # of a library's network: it has learnt, on large images
ADAMW = {"lr": 0.002, "weight_decay": 0.05}
CARD = "Train nothing: add to the card of the training in this folder its errors on the held-out corruptions, under BN."


def show_defaults(name: str) -> str:
    """Return a choice's default for our networks, and those for segmentation and for a library's."""
    return f"{getattr(Recipe, name)}; {SEGMENTING[name]} for segmentation; {TUNING[name]} for a library's network"


def command(
    model: Annotated[
        str,
        typer.Option(
            help=f"Network: {' or '.join(NETWORKS)}; or a library's, such as timm:NAME, whose last layer is then new.",
            show_default="none",
        ),
    ] = "",
    width: Annotated[
        float,
        typer.Option(help=f"Times the channels of {', '.join(SCALED)}; the same as a name such as mdeq-w0.5."),
    ] = 1.0,
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
            show_default="models/METHOD-SOURCE[-TARGET] in the data folder, models/LIBRARY-NAME-SOURCE for a library's "
            "network; none else",
        ),
    ] = None,
    method: Annotated[str, typer.Option(help=f"What is minimised: {', '.join(BASELINES)}.")] = "source",
    target: Annotated[
        str,
        typer.Option(
            help="Unlabelled images for rg and uda-ss: SET (its training images), SET:test; of a corrupted set "
            "SET:TYPE:SEVERITY:train, or SET:TYPE[:SEVERITY] for the test images themselves.",
            show_default="none",
        ),
    ] = Recipe.target,
    size: Annotated[
        str | None,
        typer.Option(
            help="Side that every image is resized to; for segmentation HEIGHTxWIDTH of a random crop.",
            show_default="as stored; 192x288; that which a library's network was made for",
        ),
    ] = None,
    scales: Annotated[
        str | None,
        typer.Option(
            help="The least and the greatest scale of an image before the crop.",
            show_default="none; 0.5,1.25 for segmentation",
        ),
    ] = None,
    colors: Annotated[
        bool,
        typer.Option(
            "--colors", help="Jitter colours and take half of the images as negatives, for digits; not for CIFAR-C."
        ),
    ] = Recipe.colors,
    task: Annotated[
        str, typer.Option(help=f"{' or '.join(TASKS)}; what the network is for.", show_default="the network's")
    ] = "",
    epochs: Annotated[
        float | None,
        typer.Option(help="Passes over the training set; 0.5 is half of one.", show_default=show_defaults("epochs")),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first weights, the order, crops and flips.")] = Recipe.seed,
    batch: Annotated[int | None, typer.Option(help="Images a step.", show_default=show_defaults("batch"))] = None,
    lr: Annotated[
        float | None,
        typer.Option(help="Peak learning rate.", show_default=f"{show_defaults('lr')}; {ADAMW['lr']} by adamw"),
    ] = None,
    optimizer: Annotated[
        str, typer.Option(help=f"{' or '.join(OPTIMIZERS)}; networks with layer norm want adamw.")
    ] = Recipe.optimizer,
    momentum: Annotated[
        float, typer.Option(help="Nesterov momentum; of adamw, what its average of gradients keeps.")
    ] = Recipe.momentum,
    weight_decay: Annotated[
        float | None,
        typer.Option(
            help="Of weights; norms and biases have none.",
            show_default=f"{Recipe.weight_decay}; {ADAMW['weight_decay']} by adamw",
        ),
    ] = None,
    schedule: Annotated[str, typer.Option(help=f"{' or '.join(SCHEDULES)}.")] = Recipe.schedule,
    rise: Annotated[float, typer.Option(help="Share of one-cycle that is spent on the way up.")] = Recipe.rise,
    hold: Annotated[float, typer.Option(help="Share of one-cycle that is spent at the peak.")] = Recipe.hold,
    crop: Annotated[
        int | None,
        typer.Option(
            help="Pixels of padding around a random crop; 0 for none. Segmentation crops by --size instead.",
            show_default=show_defaults("crop"),
        ),
    ] = None,
    flip: Annotated[bool | None, typer.Option(help="Random flips.", show_default="on, but off for digits")] = None,
    precision: Annotated[
        str | None, typer.Option(help="bfloat16 or float32.", show_default="what is fast here")
    ] = None,
    mean: Annotated[
        float | None,
        typer.Option(
            help="Mean that images are normalised by, the same for every channel, such as 0.5.",
            show_default="that of --start; else the training set's own",
        ),
    ] = None,
    std: Annotated[
        float | None,
        typer.Option(
            help="Deviation that images are normalised by, such as 0.5.",
            show_default="that of --start; else the training set's own",
        ),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, cuda:N or mps.", show_default="cuda where there is one, else cpu")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="Weights to start from: a file, a shipped model's name, or random.",
            show_default="random; a library's own",
        ),
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
    model = model if width == 1 else name_width(model, width)
    place, objective, pixels = choose_device(device), make_objective(method), model in SEGMENTERS
    check_task(task, model, method, crop)
    tuned = is_library_network(model)
    given = {"epochs": epochs, "batch": batch, "lr": lr, "crop": crop, "weight_decay": weight_decay}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    recipe = Recipe(
        model=choose_network(method, model),
        data=data,
        seed=seed,
        optimizer=optimizer,
        momentum=momentum,
        schedule=schedule,
        rise=rise,
        hold=hold,
        flip=may_flip(data) if flip is None else flip,
        precision=precision or best_precision(place),
        size=parse_size("--size", size or (CROP if pixels else None)) or (own_side(model) if tuned else None),
        scales=parse_scales(scales or (SCALES if pixels else None)),
        colors=colors,
        target=target,
        mean=mean,
        std=std,
        **{**(TUNING if tuned else SEGMENTING if pixels else {}), **(ADAMW if optimizer == "adamw" else {}), **chosen},
    )
    if tuned and start is not None and out is None:  # its folder's name would not tell this start from the usual one
        raise ValueError(f"--start {start}: name a folder for a network with another start, with --out FOLDER")
    folder = out or default_folder(method, recipe)
    own = None if pixels else objective
    card = train(recipe, folder, objective=own, start=start, device=place, every=every)
    if pixels:
        scores = f"mIoU {card['test_mean_iou']:.2%}, pixel accuracy {card['test_pixel_accuracy']:.2%}"
        print(f"{folder}: {scores} on {card['test_set']}, {card['seconds']:.0f} s of training")
        return
    on_target = f", {card['target_error']:.2%} on {card['target_test_set']}" if "target_error" in card else ""
    errors = f"error {card['test_error']:.2%} on {card['test_set']}{on_target}"
    print(f"{folder}: {errors}, {card['seconds']:.0f} s of training")


def check_task(task: str, model: str, method: str, crop: int | None) -> None:
    """Refuse a task that the network is not for, and a baseline or a crop that is not for segmentation."""
    own = TASKS[model in SEGMENTERS]
    if task and task not in TASKS:
        raise ValueError(f"--task {task!r}: choose from {', '.join(TASKS)}")
    if task and task != own:
        fitting = [name for name in NETWORKS if TASKS[name in SEGMENTERS] == task]
        raise ValueError(f"{model} is a network for {own}, not for {task}; choose from {', '.join(fitting)}")
    if own == "segmentation" and method != "source":
        raise ValueError(f"--method {method}: segmentation is trained by source alone")
    if own == "segmentation" and crop:  # a card's command says 0
        raise ValueError(f"--crop {crop}: segmentation crops by --size HEIGHTxWIDTH; leave out --crop")
    if is_library_network(model) and method != "source":
        raise ValueError(f"--method {method}: a library's network is trained by source alone; {method} takes r26")


def parse_scales(text: str | None) -> tuple[float, float] | None:
    """Read `--scales`."""
    try:
        return None if text is None else tuple(float(part) for part in text.split(",", 1))  # type: ignore[return-value]
    except ValueError:
        raise ValueError(f"--scales {text!r}: give two numbers with a comma, such as {SCALES}") from None


def print_held_out(folder: Path) -> None:
    """Add the errors on the held-out types to a card, and print them."""
    from tent.train.measure import add_held_out_errors

    found = add_held_out_errors(folder)["held_out"]
    errors = ", ".join(f"{name.replace('_', ' ')} {error:.2%}" for name, error in found["errors"].items())
    print(f"{folder}: error under BN {found['mean']:.2%}: {errors}")


def default_folder(method: str, recipe: Recipe) -> Path:
    """Return the folder of a model, where none is named and its name says all: among those in the data folder."""
    if method != "source":
        return training_folder(model_name(method, recipe.data, recipe.target, recipe.model))
    if is_library_network(recipe.model) and "/" not in recipe.model and ":" not in recipe.data:
        return training_folder(tuned_name(recipe.model, get_set(recipe.data).name))
    raise ValueError("no folder for the weights; name one with --out FOLDER")
