"""A whole training: open the sets, go on where a run was left, write the weights and their card."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tent.data import Images, Preprocess, Stream
from tent.data.order import Stored
from tent.evaluate import evaluate
from tent.models import NETWORKS
from tent.models.carded import CHECKPOINT
from tent.tasks import Classification
from tent.train import card
from tent.train.domains import Domains, opened
from tent.train.folder import alone, left_in
from tent.train.loop import Training, run
from tent.train.objective import CrossEntropy, Objective
from tent.train.progress import shown
from tent.train.recipe import Recipe
from tent.train.source import normalisation
from tent.train.start import Start, network
from tent.train.target import Target

IDENTITY = ("objective", "data_sha256")  # what makes a run another one, apart from its recipe


def train(
    recipe: Recipe,
    out: Path,
    *,
    objective: Objective | None = None,
    start: str | Path | None = None,
    root: Path | None = None,
    device: torch.device | None = None,
    every: float = 60.0,
) -> dict[str, Any]:
    """Train a network by its recipe into a folder and return its card; a run that was killed goes on.

    Args:
        start: weights to start from: a file, such as that of an earlier training, whose card is then kept, or the
            name of a shipped model.
        root: the folder of data sets; TENT_DATA's by default.
        every: seconds between checkpoints inside an epoch.
    """
    objective = objective or CrossEntropy()
    if recipe.model not in NETWORKS:
        raise ValueError(f"no network {recipe.model!r}; there are {', '.join(NETWORKS)}")
    domains, begin = opened(recipe, objective, root), None if start is None else Start.of(start)
    recipe = replace(recipe, target=recipe.target and Target.of(recipe.target).word)
    recipe = recipe if begin is None else replace(recipe, start=begin.sha256)
    head = head_of(recipe, objective, domains, begin)
    with alone(out):
        finished, left = left_in(out)
        refuse_another(head, finished or left or head, out)
        if finished is None:
            seen = domains.sized(recipe.size)
            preprocess, model = normalisation(seen.source, recipe.size), network(recipe, seen.source, begin)
            place = device or torch.device("cpu")
            training = Training(model, seen.source, preprocess, recipe, objective, place, seen.target)
            head["versions"] = resume(training, left)
            with shown(training) as watch:
                run(training, out, head, watch, every)
            finished = card.write(training.model.state_dict(), card_of(training, domains, head), out)
        (out / CHECKPOINT).unlink(missing_ok=True)
    return finished


def head_of(recipe: Recipe, objective: Objective, domains: Domains, start: Start | None) -> dict[str, Any]:
    """What is known of a run before it begins, on its card and on every checkpoint."""
    training: dict[str, Any] = {
        "method": objective.method,
        "source": f"{recipe.data} train" if ":" not in recipe.data else domains.source.name,
        "source_images": len(domains.source),
    }
    if domains.target is not None:
        training["target"] = Target.of(recipe.target).words(domains.target)
        training |= {"target_images": len(domains.target), "target_sha256": domains.target.sha256}
    training |= {"epochs": recipe.epochs, "start": "random weights" if start is None else start.words}
    return {
        "recipe": recipe.written(),
        "objective": repr(objective),
        "data_sha256": domains.source.sha256,
        **({} if start is None else {"started_from": start.card}),
        "training": training,
    }


def refuse_another(head: dict[str, Any], other: dict[str, Any], out: Path) -> None:
    """Say what a training in this folder has that this one has not, if anything."""
    here, there = identity(head), identity(other)
    names = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    if names:
        seen = "; ".join(f"{name} {there.get(name)} there, {here.get(name)} here" for name in names)
        raise ValueError(f"{out} holds another training ({seen}); choose another folder")


def identity(head: dict[str, Any]) -> dict[str, Any]:
    """What two runs must agree on to be one."""
    own = {name: head.get(name) for name in IDENTITY}
    return {**head["recipe"], **own, "target_sha256": head.get("training", {}).get("target_sha256")}


def resume(training: Training, left: dict[str, Any] | None) -> list[dict[str, str]]:
    """Go on from what was left, if anything; the versions of all software that had a part in the run."""
    now = card.versions()
    if left is None:
        return [now]
    training.restore(left["state"])
    before: list[dict[str, str]] = left["versions"]
    return before if now in before else [*before, now]


def card_of(training: Training, domains: Domains, head: dict[str, Any]) -> dict[str, Any]:
    """Measure the trained model and say all there is to say of it."""
    recipe, preprocess, test = training.recipe, training.preprocess, domains.test
    loss, mistakes, n = training.sums.tolist()
    seconds = round(training.seconds, 1)
    return {
        "model": recipe.model,
        "classes": test.classes,
        "class_names": test.class_names,
        **({} if preprocess.size is None else {"size": preprocess.size}),
        "mean": preprocess.mean,
        "std": preprocess.std,
        "command": recipe.command(training.objective.method),
        **head,
        "training": {**head["training"], "seconds": seconds, "forward": training.passed, "backward": training.passed},
        "test_set": test.name,
        "test_images": len(test),
        "test_sha256": test.sha256,
        "test_error": clean_error(training.model, test, preprocess),
        **target_error(training, domains),
        "train_loss": loss / n,
        "train_error": mistakes / n,
        "seconds": seconds,
        "hardware": card.hardware(training.device),
    }


def target_error(training: Training, domains: Domains) -> dict[str, Any]:
    """The error on the target, where its labels are known: they serve this measure alone, after the last step."""
    test = domains.target_test
    if test is None:
        return {}
    error = clean_error(training.model, test, training.preprocess)
    return {"target_test_set": test.name, "target_test_images": len(test), "target_error": error}


def clean_error(model: nn.Module, data: Images, preprocess: Preprocess) -> float:
    """Return the share of a set that the model, in eval mode and unadapted, gets wrong."""
    return evaluate(model, Stream(data, 500, Stored(), preprocess), Classification()).metrics["error"]
