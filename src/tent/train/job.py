"""A whole training: open the set, go on where a run was left, write the weights and their card."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from tent.data import Images
from tent.models import NETWORKS
from tent.train import card
from tent.train.error import clean_error
from tent.train.folder import CHECKPOINT, alone, card_beside, left_in
from tent.train.loop import Training, run
from tent.train.objective import CrossEntropy, Objective
from tent.train.progress import shown
from tent.train.recipe import Recipe
from tent.train.source import labelled, normalisation, sized

IDENTITY = ("objective", "data_sha256")  # what makes a run another one, apart from its recipe


def train(
    recipe: Recipe,
    out: Path,
    *,
    objective: Objective | None = None,
    start: Path | None = None,
    root: Path | None = None,
    device: torch.device | None = None,
    every: float = 60.0,
) -> dict[str, Any]:
    """Train a network by its recipe into a folder and return its card; a run that was killed goes on.

    Args:
        start: weights to start from, such as those of an earlier training, whose card is then kept.
        root: the folder of data sets; TENT_DATA's by default.
        every: seconds between checkpoints inside an epoch.
    """
    objective = objective or CrossEntropy()
    device = device or torch.device("cpu")
    if recipe.model not in NETWORKS:
        raise ValueError(f"no network {recipe.model!r}; there are {', '.join(NETWORKS)}")
    data, test = labelled(recipe.data, "train", root), labelled(recipe.data, "test", root)
    head: dict[str, Any] = {"recipe": recipe.written(), "objective": repr(objective), "data_sha256": data.sha256}
    if start is not None:
        recipe = replace(recipe, start=hashlib.sha256(start.read_bytes()).hexdigest())
        head |= {"recipe": recipe.written(), "started_from": card_beside(start)}
    with alone(out):
        finished, left = left_in(out)
        refuse_another(head, finished or left or head, out)
        if finished is None:
            data = sized(data, recipe.size)
            preprocess = normalisation(data, recipe.size)
            training = Training(network(recipe, data, start), data, preprocess, recipe, objective, device)
            head["versions"] = resume(training, left)
            with shown(training) as watch:
                run(training, out, head, watch, every)
            finished = card.write(training.model.state_dict(), card_of(training, test, head), out)
        (out / CHECKPOINT).unlink(missing_ok=True)
    return finished


def refuse_another(head: dict[str, Any], other: dict[str, Any], out: Path) -> None:
    """Say what a training in this folder has that this one has not, if anything."""
    here, there = ({**each["recipe"], **{name: each.get(name) for name in IDENTITY}} for each in (head, other))
    names = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    if names:
        seen = "; ".join(f"{name} {there.get(name)} there, {here.get(name)} here" for name in names)
        raise ValueError(f"{out} holds another training ({seen}); choose another folder")


def network(recipe: Recipe, data: Images, start: Path | None) -> nn.Module:
    """The network of a recipe at its start, which depends on the seed alone, or on the weights it starts from."""
    if data.classes is None:
        raise ValueError(f"{data.name} does not say how many classes it has; name a set that does")
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        model = NETWORKS[recipe.model](classes=data.classes)
    if start is not None:
        try:
            model.load_state_dict(load_file(start))
        except (RuntimeError, SafetensorError) as error:
            raise ValueError(f"{start}: not weights of {recipe.model} for {data.classes} classes ({error})") from error
    return model


def resume(training: Training, left: dict[str, Any] | None) -> list[dict[str, str]]:
    """Go on from what was left, if anything; the versions of all software that had a part in the run."""
    now = card.versions()
    if left is None:
        return [now]
    training.restore(left["state"])
    before: list[dict[str, str]] = left["versions"]
    return before if now in before else [*before, now]


def card_of(training: Training, test: Images, head: dict[str, Any]) -> dict[str, Any]:
    """Measure the trained model and say all there is to say of it."""
    recipe, preprocess = training.recipe, training.preprocess
    loss, mistakes, n = training.sums.tolist()
    return {
        "model": recipe.model,
        "classes": test.classes,
        "class_names": test.class_names,
        **({} if preprocess.size is None else {"size": preprocess.size}),
        "mean": preprocess.mean,
        "std": preprocess.std,
        "command": recipe.command(),
        **head,
        "test_set": test.name,
        "test_images": len(test),
        "test_sha256": test.sha256,
        "test_error": clean_error(training.model, test, preprocess),
        "train_loss": loss / n,
        "train_error": mistakes / n,
        "seconds": round(training.seconds, 1),
        "hardware": card.hardware(training.device),
    }
