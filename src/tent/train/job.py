"""A whole training: open the set, go on where a run was left, write the weights and their card."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tent.models import NETWORKS
from tent.train import card, checkpoint
from tent.train.loop import Training, error, run
from tent.train.progress import Lines
from tent.train.recipe import Recipe
from tent.train.source import Arrays, Preprocess, load


def train(recipe: Recipe, out: Path, root: Path | None = None, every: float = 60.0) -> dict[str, Any]:
    """Train a network by its recipe into a folder and return its card; a run that was killed goes on."""
    if recipe.model not in NETWORKS:
        raise ValueError(f"no network {recipe.model!r}; there are {', '.join(NETWORKS)}")
    data, test = load(recipe.data, "train", root), load(recipe.data, "test", root)
    out.mkdir(parents=True, exist_ok=True)
    head = {"recipe": asdict(recipe), "data_sha256": card.data_hash(data)}
    left = checkpoint.load(out)
    if left is not None:
        same_run(recipe, head, left, out)
    preprocess = statistics(data)
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        model = NETWORKS[recipe.model](classes=len(data.classes), channels=data.fetch(np.arange(1)).shape[-1])
    training = Training(model, data, preprocess, recipe)
    if left is not None:
        training.restore(left)
        print(f"going on at step {training.step} of {training.steps}", file=sys.stderr, flush=True)
    run(training, out, head, Lines(), every)
    return finish(training, test, head, out)


def same_run(recipe: Recipe, head: dict[str, Any], left: dict[str, Any], out: Path) -> None:
    """Refuse a folder that holds a training by another recipe or on other data."""
    differences = recipe.differences(left["recipe"])
    if not differences and left["data_sha256"] != head["data_sha256"]:
        differences = [f"the images or labels of {recipe.data} are others"]
    if differences:
        raise ValueError(f"{out} holds another training ({'; '.join(differences)}); choose another folder")


def statistics(data: Arrays) -> Preprocess:
    """The normalisation that a training set asks for: mean and deviation of each channel."""
    total, squares, n = 0.0, 0.0, 0
    for start in range(0, len(data), 4096):
        pixels = data.fetch(np.arange(start, min(start + 4096, len(data)))).astype(np.float64) / 255
        total, squares = total + pixels.sum((0, 1, 2)), squares + (pixels**2).sum((0, 1, 2))
        n += pixels[..., 0].size
    mean = np.atleast_1d(total / n)
    std = np.sqrt(np.atleast_1d(squares / n) - mean**2)
    return Preprocess(tuple(round(float(v), 6) for v in mean), tuple(round(float(v), 6) for v in std))


def finish(training: Training, test: Arrays, head: dict[str, Any], out: Path) -> dict[str, Any]:
    """Measure the trained model and write it with its card."""
    recipe, preprocess = training.recipe, training.preprocess
    loss, mistakes, n = training.sums.tolist()
    what = {
        "model": recipe.model,
        "classes": list(test.classes),
        "mean": list(preprocess.mean),
        "std": list(preprocess.std),
        "command": recipe.command(),
        **head,
        "test_error": error(training.model, test, preprocess),
        "test_images": len(test),
        "test_sha256": card.data_hash(test),
        "train_loss": loss / n,
        "train_error": mistakes / n,
        "seconds": round(training.seconds, 1),
        "hardware": card.hardware(training.device),
        "versions": card.versions(),
    }
    return card.write(training.model.state_dict(), what, out)
