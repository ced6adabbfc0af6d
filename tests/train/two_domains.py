"""Toy problems of two domains, and a network small enough to learn them in seconds."""

import numpy as np
import torch
from torch import Tensor, nn

from tent.data import Images
from tent.data.sets.arrays import ArrayImages
from tent.train.domains import normalisation
from tent.train.job import clean_error
from tent.train.loop import Training
from tent.train.objectives import Objective
from tent.train.recipe import Recipe

SIDE = 12


class Small(nn.Module):
    """Three convolutions, a linear layer on their means, and another that tells rotations apart."""

    def __init__(self, classes: int = 2, width: int = 8) -> None:
        super().__init__()
        channels = (3, width, 2 * width, 2 * width)
        layers: list[nn.Module] = []
        for stride, here, there in zip((1, 2, 2), channels[:-1], channels[1:], strict=True):
            layers += [nn.Conv2d(here, there, 3, stride, 1, bias=False), nn.BatchNorm2d(there), nn.ReLU()]
        self.body, self.fc, self.rotation = nn.Sequential(*layers), nn.Linear(channels[-1], classes), nn.Linear(16, 4)

    def features(self, x: Tensor) -> Tensor:
        out: Tensor = self.body(x).mean((2, 3))
        return out

    def forward(self, x: Tensor, head: str = "classes") -> Tensor:
        out: Tensor = (self.rotation if head == "rotation" else self.fc)(self.features(x))
        return out


def bars(n: int, seed: int, height: float, tint: Tensor | np.ndarray, share: float, lit: float = 0) -> Images:
    """Noise with a bar across, lying (class 0) or upright (1), and a tint that goes with the class or does not.

    Args:
        height: of the bar above the noise, whose deviation is 25.
        tint: of the first channel, for the class 0 and 1.
        share: of the images whose tint is that of their class, and not of the other.
        lit: how much brighter the upper half is, which tells what is up.
    """
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, n)
    pixels = random.normal(100, 25, (n, SIDE, SIDE, 3))
    for image, label, at in zip(pixels, labels, random.integers(2, SIDE - 4, n), strict=True):
        (image[:, at : at + 2] if label else image[at : at + 2])[:] += height
    said = np.where(random.random(n) < share, labels, 1 - labels)
    pixels[..., 0] += (np.asarray(tint)[said] + random.normal(0, 5, n))[:, None, None]
    pixels[:, : SIDE // 2] += lit
    return ArrayImages("bars", pixels.clip(0, 255).astype(np.uint8), labels.astype(np.int64), 2)


def trained(objective: Objective, source: Images, target: Images | None, **choices: float) -> Training:
    """A whole training of the small network."""
    recipe = Recipe("r26", "cifar10", **{"batch": 32, "crop": 0, "flip": False, "precision": "float32", **choices})
    torch.manual_seed(recipe.seed)
    run = Training(Small(), source, normalisation(source), recipe, objective, torch.device("cpu"), target)
    while run.step < run.steps:
        run.advance()
    return run


def error(run: Training, data: Images) -> float:
    """The error of what was trained, in eval mode."""
    return clean_error(run.model, data, run.preprocess)
