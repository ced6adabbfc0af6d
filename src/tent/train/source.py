"""Labelled sets as plain arrays on disk, opened with mmap."""

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

CHUNK = 4096  # rows looked at together
CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


class Labelled:
    """An ordered set of images of one size, with their labels."""

    def __init__(
        self, name: str, pixels: NDArray[np.uint8], labels: NDArray[np.int64], class_names: Sequence[str]
    ) -> None:
        self.name, self.pixels, self.labels = name, pixels, labels
        self.class_names, self.classes = tuple(class_names), len(class_names)

    def __len__(self) -> int:
        return len(self.pixels)

    def fetch(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The images at these places."""  # (n, h, w, c)
        return self.pixels[indices]

    @cached_property
    def sha256(self) -> str:
        """The hash of shape, pixels and labels."""
        digest = hashlib.sha256(repr(self.pixels.shape).encode())
        for first in range(0, len(self), CHUNK):
            digest.update(np.ascontiguousarray(self.pixels[first : first + CHUNK]).data)
        digest.update(self.labels.astype("<i8").tobytes())
        return digest.hexdigest()


class Preprocess:
    """From bytes to what a network takes: colour, scaled to [0, 1], then normalised by channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        self.mean, self.std = tuple(mean), tuple(std)

    def __call__(self, images: NDArray[np.uint8]) -> Tensor:
        """Bytes (n, h, w, c) to floats (n, 3, h, w)."""
        x = torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(255).expand(-1, 3, -1, -1).contiguous()
        return x.sub_(torch.tensor(self.mean).view(1, 3, 1, 1)).div_(torch.tensor(self.std).view(1, 3, 1, 1))


def load(name: str, split: str, root: Path | None = None) -> Labelled:
    """Open one split of a set under `root`, by default the folder that TENT_DATA names."""
    root = root or Path(os.environ.get("TENT_DATA") or Path.home() / ".cache" / "tent")
    images, labels = (root / name / f"{split}_{part}.npy" for part in ("images", "labels"))
    if not images.is_file():
        known = ", ".join(sorted(path.parent.name for path in root.glob(f"*/{split}_images.npy"))) or "none"
        raise FileNotFoundError(f"no set {name!r} with a {split} split in the data folder; sets there: {known}")
    if not labels.is_file():
        raise ValueError(f"{name} {split} has no labels ({labels.name}); training needs a labelled set")
    y = np.load(labels, allow_pickle=False).astype(np.int64)
    names = CIFAR10 if name == "cifar10" else tuple(str(label) for label in range(int(y.max()) + 1))
    return Labelled(f"{name} {split}", np.load(images, mmap_mode="r", allow_pickle=False), y, names)


def normalisation(data: Labelled) -> Preprocess:
    """What a training set asks for: the mean and deviation of each of its channels."""
    levels = np.arange(256) / 255
    counts = sum(_histogram(data, first) for first in range(0, len(data), CHUNK))
    shares = np.broadcast_to(counts / np.sum(counts, 1, keepdims=True), (3, 256))  # grey is three equal channels
    mean = shares @ levels
    std = np.sqrt((shares * (levels - mean[:, None]) ** 2).sum(1))
    std[std == 0] = 1  # a constant channel has nothing to scale
    return Preprocess([round(float(v), 6) for v in mean], [round(float(v), 6) for v in std])


def _histogram(data: Labelled, first: int) -> NDArray[np.int64]:
    pixels = data.fetch(np.arange(first, min(first + CHUNK, len(data))))
    return np.stack([np.bincount(channel.ravel(), minlength=256) for channel in np.moveaxis(pixels, -1, 0)])
