"""The data of one training: a labelled source, and beside it a target where the recipe names one."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tent.data import Images
from tent.train.objective import Objective
from tent.train.recipe import Recipe
from tent.train.source import labelled, pixels_of, sized
from tent.train.target import Target


@dataclass(frozen=True)
class Domains:
    """What is learnt from, and what is measured on afterwards."""

    source: Images
    test: Images
    target: Images | None = None
    target_test: Images | None = None  # None too where its labels are not known or not the source's

    def sized(self, size: int | None) -> "Domains":
        """The same, with what is learnt from at the size that a recipe asks for, if it does."""
        return replace(
            self, source=sized(self.source, size), target=None if self.target is None else sized(self.target, size)
        )


def opened(recipe: Recipe, objective: Objective, root: Path | None) -> Domains:
    """Open what a recipe names, and refuse what cannot be learnt from."""
    if objective.targeted and not recipe.target:
        raise ValueError(f"{objective.method} learns from a target too: name one, such as --target mnist")
    if recipe.target and not objective.targeted:
        raise ValueError(f"{objective.method} learns from the source alone: leave out the target {recipe.target!r}")
    source, test = labelled(recipe.data, "train", root), labelled(recipe.data, "test", root)
    if source.labels is not None and len(np.unique(source.labels)) < 2:
        raise ValueError(f"{source.name}: all labels are alike; training needs images of at least two classes")
    objective.refuse(*(sides_of(source) if recipe.size is None else (recipe.size, recipe.size)))
    if not recipe.target:
        return Domains(source, test)
    named = Target.of(recipe.target)
    target, target_test = named.opened(root), named.test(root)
    refuse_unlike(source, target, recipe.size)
    measured = target_test.labels is not None and target_test.classes == source.classes
    return Domains(source, test, target, target_test if measured else None)


def refuse_unlike(source: Images, target: Images, size: int | None) -> None:
    """Refuse a target that cannot share a batch with the source."""
    if not len(target):
        raise ValueError(f"{target.name}: no images to learn from")
    if size is not None:
        return
    here, there = sides_of(source), sides_of(target)
    if here != there:
        side = here[0] if here[0] == here[1] else max(here)
        raise ValueError(
            f"{target.name} has images of {there[0]}x{there[1]}, {source.name} of {here[0]}x{here[1]};"
            f" --size {side} resizes them"
        )


def sides_of(data: Images) -> tuple[int, int]:
    """Height and width of a set's first image."""
    height, width = pixels_of(data, np.arange(1)).shape[1:3]
    return height, width
