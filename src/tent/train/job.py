"""A whole training: open the sets, go on where a run was left, write the weights and their card."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tent.data import Images, Preprocess, Stream
from tent.data.order import Stored
from tent.data.preprocess import IMAGENET
from tent.environment import hardware, versions
from tent.evaluate import evaluate
from tent.models import find_network, is_library_network
from tent.models.architectures.mdeq import MDEQ
from tent.models.architectures.new_classifier import load_library_network
from tent.models.cards import CHECKPOINT
from tent.tasks import Classification
from tent.train.domains import Domains, normalisation, open_domains
from tent.train.loop import Training, run
from tent.train.objectives import CrossEntropy, Objective, PixelCrossEntropy
from tent.train.pixel_training import PixelTraining
from tent.train.progress import show
from tent.train.recipe import Recipe
from tent.train.run_folder import lock_run, read_run, save_model
from tent.train.start import Start, build_network
from tent.train.target import Target

IDENTITY = ("objective", "data_sha256")  # what makes a run another one, apart from its recipe
SEEN = " (the images it learnt from: there are no others)"  # of a folder or a file, which has no test split


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
    """Train a network by its recipe into a folder and return its card; a run that was killed continues.

    Args:
        start: weights to start from: a file, such as that of an earlier training, whose card is then kept, or the
            name of a shipped model; a library's network starts from the library's own unless this is "random".
        root: the folder of data sets; TENT_DATA's by default.
        every: seconds between checkpoints inside an epoch.
    """
    pixels = recipe.task == "segmentation"
    objective = objective or (PixelCrossEntropy() if pixels else CrossEntropy())
    find_network(recipe.model)  # a name that is none is said before anything is read
    domains, begin = open_domains(recipe, objective, root), Start.find(start, recipe.model)
    recipe = replace(recipe, target=recipe.target and Target.parse(recipe.target).word)
    recipe = recipe if begin is None else replace(recipe, start=begin.recipe_word)
    head = describe_run(recipe, objective, domains, begin)
    with lock_run(out):
        finished, left = read_run(out)
        check_same_run(head, finished or left or head, out)
        if finished is None:
            seen = domains.resize(recipe.side)
            preprocess = choose_preprocess(recipe, seen.source, begin)
            model, place = build_network(recipe, seen.source, begin), device or torch.device("cpu")
            kind = PixelTraining if pixels else Training
            training = kind(model, seen.source, preprocess, recipe, objective, place, seen.target)
            head |= resume(training, left)
            with show(training) as watch:
                run(training, out, head, watch, every)
            finished = save_model(training.model.state_dict(), make_card(training, domains, head), out)
        (out / CHECKPOINT).unlink(missing_ok=True)
    return finished


def choose_preprocess(recipe: Recipe, data: Images, start: Start | None = None) -> Preprocess:
    """Return the mean and deviation of a network's inputs: the recipe's, those it started with, or the set's."""
    if recipe.task == "segmentation":
        return IMAGENET
    size = recipe.side and (recipe.side, recipe.side)
    if is_library_network(recipe.model):
        own = load_library_network(recipe.model, pretrained=False).preprocess
        if own.mean is not None:
            return Preprocess(size, None, own.mean, own.std)
    if recipe.mean is not None and recipe.std is not None:
        return Preprocess(size, None, (recipe.mean,) * 3, (recipe.std,) * 3)
    earlier = (start and start.card) or {}
    if earlier.get("mean") and earlier.get("std"):
        return Preprocess(size, None, tuple(earlier["mean"]), tuple(earlier["std"]))
    return normalisation(data, recipe.side)


def describe_run(recipe: Recipe, objective: Objective, domains: Domains, start: Start | None) -> dict[str, Any]:
    """Return what is known of a run before it begins, on its card and on every checkpoint."""
    training: dict[str, Any] = {
        "method": objective.method,
        "source": f"{recipe.data} train" if ":" not in recipe.data else domains.source.name,
        "source_images": len(domains.source),
    }
    if domains.target is not None:
        training["target"] = Target.parse(recipe.target).describe(domains.target)
        training |= {"target_images": len(domains.target), "target_sha256": domains.target.sha256}
    training |= {"epochs": recipe.epochs, "start": "random weights" if start is None else start.words}
    return {
        "recipe": recipe.to_dict(),
        "objective": repr(objective),
        "data_sha256": domains.source.sha256,
        **({} if start is None else {"started_from": start.card}),
        "training": training,
    }


def check_same_run(head: dict[str, Any], other: dict[str, Any], out: Path) -> None:
    """Say what a training in this folder has that this one has not, if anything."""
    here, there = identity(head), identity(other)
    names = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    if names:
        seen = "; ".join(f"{name} {there.get(name)} there, {here.get(name)} here" for name in names)
        raise ValueError(f"{out} holds another training ({seen}); choose another folder")


def identity(head: dict[str, Any]) -> dict[str, Any]:
    """Return what two runs must agree on to be one."""
    own = {name: head.get(name) for name in IDENTITY}
    return {**head["recipe"], **own, "target_sha256": head.get("training", {}).get("target_sha256")}


def resume(training: Training, left: dict[str, Any] | None) -> dict[str, list[Any]]:
    """Go on from what was left, if anything; return the software and hardware that had a part in the run."""
    now: dict[str, Any] = {"versions": versions(), "hardware": hardware(training.device)}
    if left is not None:
        training.restore(left["state"])
    before = {name: list((left or {}).get(name, [])) for name in now}
    return {name: own if now[name] in own else [*own, now[name]] for name, own in before.items()}


def make_card(training: Training, domains: Domains, head: dict[str, Any]) -> dict[str, Any]:
    """Measure the trained model and say all there is to say of it."""
    recipe, preprocess, test = training.recipe, training.preprocess, domains.test
    loss, mistakes, n = training.sums.tolist()
    seconds = round(training.seconds, 3)
    return {
        "model": recipe.model,
        "classes": test.classes,
        "class_names": test.class_names,
        **({} if preprocess.size is None else {"size": preprocess.size}),
        "mean": preprocess.mean,
        "std": preprocess.std,
        "command": recipe.command(training.objective.method),
        **head,
        "training": {
            **head["training"],
            "seconds": seconds,
            "forward": training.images_seen,
            "backward": training.images_seen,
        },
        "test_set": test.name + (SEEN if test.sha256 == domains.source.sha256 else ""),
        "test_images": len(test),
        "test_sha256": test.sha256,
        **measure_test(training, test),
        **target_error(training, domains),
        "train_loss": loss / n,
        "train_error": mistakes / n,
        "curve": training.curve,
        "seconds": seconds,
        "hardware": "; then ".join(head["hardware"]),
    }


def measure_test(training: Training, test: Images) -> dict[str, Any]:
    """Return what the model comes to on the test split: its error, or its scores over pixels."""
    if isinstance(training, PixelTraining):
        return training.measure(test)
    return measure_classifier(training.model, test, training.preprocess, training.recipe.batch)


def measure_classifier(model: nn.Module, test: Images, preprocess: Preprocess, batch: int) -> dict[str, float]:
    """Return a classifier's error and, where it looks for equilibria, its largest residual."""
    with record_residuals(model) as residuals:
        error = clean_error(model, test, preprocess, batch)
    return {"test_error": error, **({"largest_residual": max(residuals)} if residuals else {})}


@contextmanager
def record_residuals(model: nn.Module) -> Iterator[list[float]]:
    """Keep the largest residual of every batch, where the model looks for an equilibrium."""
    found: list[float] = []

    def keep(module: nn.Module, *_: Any) -> None:
        if isinstance(module, MDEQ) and module.last_residual is not None:
            found.append(module.last_residual)

    hook = model.register_forward_hook(keep)
    try:
        yield found
    finally:
        hook.remove()


def target_error(training: Training, domains: Domains) -> dict[str, Any]:
    """Return the error on the target, where its labels are known: they serve this measure alone."""
    test = domains.target_test
    if test is None:
        return {}
    error = clean_error(training.model, test, training.preprocess, training.recipe.batch)
    return {"target_test_set": test.name, "target_test_images": len(test), "target_error": error}


def clean_error(model: nn.Module, data: Images, preprocess: Preprocess, batch: int = 128) -> float:
    """Return the share of a set that the model, in eval mode and unadapted, gets wrong.

    Args:
        batch: of a step of training; answers alone to four times as many images take less memory than that did.
    """
    stream = Stream(data, min(500, 4 * batch), Stored(), preprocess)
    return evaluate(model, stream, Classification()).metrics["error"]
