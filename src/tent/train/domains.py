"""The data of one training: a labelled source, and beside it a target where the recipe names one."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tent.data import Images, Preprocess, load
from tent.data.preprocess import stack
from tent.data.segments.label_maps import LabelMapImages
from tent.data.sets.images import Pixels
from tent.data.sets.resize import ResizedImages
from tent.train.objectives import Objective
from tent.train.recipe import Recipe
from tent.train.target import Target

CHUNK = 4096  # rows looked at together


@dataclass(frozen=True)
class Domains:
    """What is learnt from, and what is measured on afterwards."""

    source: Images
    test: Images
    target: Images | None = None
    target_test: Images | None = None  # None too where its labels are not known or not the source's

    def resize(self, size: int | None) -> "Domains":
        """Return the same, with what is learnt from at the size that a recipe asks for, if it does."""
        return replace(
            self, source=resize(self.source, size), target=None if self.target is None else resize(self.target, size)
        )


def open_domains(recipe: Recipe, objective: Objective, root: Path | None) -> Domains:
    """Open what a recipe names, and refuse what cannot be learnt from."""
    if objective.needs_target and not recipe.target:
        raise ValueError(f"{objective.method} learns from a target too: name one, such as --target mnist")
    if recipe.target and not objective.needs_target:
        raise ValueError(f"{objective.method} learns from the source alone: leave out the target {recipe.target!r}")
    source, test = load_labelled(recipe.data, "train", root), load_labelled(recipe.data, "test", root)
    if source.labels is not None and len(np.unique(source.labels)) < 2:
        raise ValueError(f"{source.name}: all labels are alike; training needs images of at least two classes")
    if recipe.task == "segmentation":
        return Domains(require_maps(source), require_maps(test))
    if isinstance(source, LabelMapImages):
        raise ValueError(f"{source.name} has label maps; train a network for segmentation on it, such as hrnet-w18")
    objective.check_size(*(image_size(source) if recipe.side is None else (recipe.side, recipe.side)))
    if not recipe.target:
        return Domains(source, test)
    named = Target.parse(recipe.target)
    target, target_test = named.open(root), named.open_test(root)
    check_sizes_agree(source, target, recipe.side)
    measured = target_test.labels is not None and target_test.classes == source.classes
    return Domains(source, test, target, target_test if measured else None)


def require_maps(images: Images) -> Images:
    """Return a set, which must have a label for each pixel."""
    if not isinstance(images, LabelMapImages):
        raise ValueError(f"{images.name} has no label maps; segmentation learns from a set such as carla")
    return images


def check_sizes_agree(source: Images, target: Images, size: int | None) -> None:
    """Refuse a target that cannot share a batch with the source."""
    if not len(target):
        raise ValueError(f"{target.name}: no images to learn from")
    if size is not None:
        return
    here, there = image_size(source), image_size(target)
    if here != there:
        side = here[0] if here[0] == here[1] else max(here)
        raise ValueError(
            f"{target.name} has images of {there[0]}x{there[1]}, {source.name} of {here[0]}x{here[1]};"
            f" --size {side} resizes them"
        )


def image_size(data: Images) -> tuple[int, int]:
    """Return height and width of a set's first image."""
    height, width = read_pixels(data, np.arange(1)).shape[1:3]
    return height, width


def load_labelled(name: str, split: str, root: str | os.PathLike[str] | None = None) -> Images:
    """Open one split of a set, which must have labels."""
    images = load(name, split, root)
    if not images.labelled:
        raise ValueError(f"{images.name} has no labels; training needs a labelled set")
    return images


def resize(data: Images, size: int | None) -> Images:
    """Return a set at the size that a recipe asks for, if it does."""
    return data if size is None else ResizedImages(data, size)


def normalisation(data: Images, size: int | None = None) -> Preprocess:
    """Return the mean and deviation of each channel of a training set, after the size if it has one."""
    levels = np.arange(256) / 255
    counts = sum(_histogram(data, first) for first in range(0, len(data), CHUNK))
    shares = np.broadcast_to(counts / np.sum(counts, 1, keepdims=True), (3, 256))  # grey is three equal channels
    mean = shares @ levels
    std = np.sqrt((shares * (levels - mean[:, None]) ** 2).sum(1))
    std[std == 0] = 1  # a constant channel has nothing to scale
    return Preprocess(None if size is None else (size, size), None, _round(mean), _round(std))


def read_pixels(data: Images, indices: NDArray[np.int64]) -> Pixels:
    """Return images of one size as one array."""
    pixels = data.fetch(indices)
    return pixels if isinstance(pixels, np.ndarray) else stack(pixels)


def _histogram(data: Images, first: int) -> NDArray[np.int64]:
    pixels = read_pixels(data, np.arange(first, min(first + CHUNK, len(data))))
    return np.stack([np.bincount(channel.ravel(), minlength=256) for channel in np.moveaxis(pixels, -1, 0)])


def _round(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(round(float(value), 6) for value in values)
