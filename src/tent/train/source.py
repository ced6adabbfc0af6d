"""Labelled sets as plain arrays on disk, opened with mmap."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True)
class Arrays:
    """Images and labels of one split of a set."""

    name: str
    images: npt.NDArray[np.uint8]  # (n, height, width, channels)
    labels: npt.NDArray[np.int64]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def fetch(self, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """The images at these positions."""
        return self.images[indices]


@dataclass(frozen=True)
class Preprocess:
    """From bytes to what a model takes: scaled to [0, 1], then normalised by channel."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __call__(self, images: npt.NDArray[np.uint8] | Tensor) -> Tensor:
        """Bytes as (n, h, w, c) to floats as (n, c, h, w), kept channels-last in memory."""
        x = torch.as_tensor(images).permute(0, 3, 1, 2).float().div_(255)
        return x.sub_(torch.tensor(self.mean).view(-1, 1, 1)).div_(torch.tensor(self.std).view(-1, 1, 1))


def load(name: str, split: str, root: Path | None = None) -> Arrays:
    """Open one split of a set under `root`, by default the folder that TENT_DATA names."""
    root = root or Path(os.environ.get("TENT_DATA") or Path.home() / ".cache" / "tent")
    images, labels = (root / name / f"{split}_{part}.npy" for part in ("images", "labels"))
    if not images.is_file():
        known = ", ".join(sorted(path.parent.name for path in root.glob(f"*/{split}_images.npy"))) or "none"
        raise FileNotFoundError(f"no set {name!r} with a {split} split under {root}; sets there: {known}")
    if not labels.is_file():
        raise ValueError(f"set {name!r} has no {split} labels ({labels.name}); training needs a labelled set")
    y = np.load(labels, allow_pickle=False).astype(np.int64)
    names = CIFAR10 if name == "cifar10" else tuple(str(label) for label in range(int(y.max()) + 1))
    return Arrays(name, np.load(images, mmap_mode="r", allow_pickle=False), y, names)
