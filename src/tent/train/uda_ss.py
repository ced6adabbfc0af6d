"""UDA-SS: source and target aligned by tasks that need no labels (Sun, Tzeng, Darrell & Efros, 2019)."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from tent import rotations
from tent.train import quadrant
from tent.train.objective import Batch, Objective, feature_width, target_of


class UDASS(Objective):
    """Cross-entropy on the source; rotations, and places of quarters, told apart on source and target."""

    method, targeted, cost = "uda-ss", True, 2.25  # the source, as many turned images, as many quarters

    def __init__(self) -> None:
        super().__init__()
        self.rotation: nn.Module = nn.Identity()  # until the network's width is known
        self.place: nn.Module = nn.Identity()

    def __repr__(self) -> str:
        return "UDASS()"

    def refuse(self, height: int, width: int) -> None:
        """Refuse images that do not fit themselves after a quarter turn, or have no four equal quarters."""
        if height != width or height % 2:
            raise ValueError(
                f"images of {height}x{width}: {self.method} turns them and cuts them in four, so they must be square"
                f" and of an even side; --size {min(height, width) // 2 * 2 or 2} makes them so"
            )

    def start(self, model: nn.Module) -> None:
        """Make a linear head for each task."""
        width = feature_width(model, self.method)
        self.rotation, self.place = nn.Linear(width, rotations.TURNS), nn.Linear(width, quadrant.PLACES)

    def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Three losses: labels on the source, each other task on a half of the source and a half of the target."""
        target, n = target_of(batch, self.method), len(batch.labels)
        if n < 2:
            raise ValueError(f"a batch of {n}: {self.method} shares it between two tasks, so give it at least 2")
        half = n // 2
        turned, turns = rotations.drawn(torch.cat([batch.inputs[:half], target[:half]]), batch.random)
        quarters, places = quadrant.drawn(torch.cat([batch.inputs[half:], target[half:]]), batch.random)
        with untracked(model):
            place = self.place(model.features(last(quarters)))  # type: ignore[operator]
        features = model.features(last(torch.cat([batch.inputs, turned])))  # type: ignore[operator]
        logits, rotation = model.fc(features[:n]).float(), self.rotation(features[n:])  # type: ignore[operator]
        tasks = F.cross_entropy(rotation.float(), turns) + F.cross_entropy(place.float(), places)
        return F.cross_entropy(logits, batch.labels) + tasks, logits


@contextmanager
def untracked(model: nn.Module) -> Iterator[None]:
    """Keep what passes out of the running averages: whole images are tested on, and quarters' statistics differ."""
    norms = [each for each in model.modules() if isinstance(each, _BatchNorm) and each.track_running_stats]
    try:
        for norm in norms:
            norm.track_running_stats = False
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True


def last(images: Tensor) -> Tensor:
    """Images with their channels last in memory, as the network is."""
    return images.contiguous(memory_format=torch.channels_last)
