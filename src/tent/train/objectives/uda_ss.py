"""UDA-SS: source and target aligned by tasks that need no labels (Sun, Tzeng, Darrell & Efros, 2019)."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from tent import augment
from tent.train.objectives.objective import Batch, Objective, feature_width, require_target

TASKS = {"rotation": 1.0, "position": 0.25}  # what each adds to the images that pass, for each labelled one
PLACES = 4  # top left, top right, bottom left, bottom right: the label is the place in this order


class UDASS(Objective):
    """Cross-entropy on the source; rotations, and places of quarters, told apart on source and target."""

    method, needs_target = "uda-ss", True

    def __init__(self, tasks: Collection[str] = tuple(TASKS)) -> None:
        super().__init__()
        if not tasks or isinstance(tasks, str) or not set(tasks) <= set(TASKS):
            raise ValueError(f"tasks {tasks!r}: give one or both of {', '.join(TASKS)}, as in tasks=['rotation']")
        self.tasks = tuple(task for task in TASKS if task in tasks)
        self.cost = 1 + sum(TASKS[task] for task in self.tasks)
        self.rotation: nn.Module = nn.Identity()  # until the network's width is known
        self.place: nn.Module = nn.Identity()

    def __repr__(self) -> str:
        return "UDASS()" if len(self.tasks) == len(TASKS) else f"UDASS(tasks={self.tasks})"

    def check_size(self, height: int, width: int) -> None:
        """Refuse images that do not fit themselves after a quarter turn, or have no four equal quarters."""
        turns, cuts = (task in self.tasks for task in TASKS)
        if (turns and height != width) or (cuts and (height % 2 or width % 2)):
            raise ValueError(
                f"images of {height}x{width}: {self.method} turns them and cuts them in four, so they must be square"
                f" and of an even side; --size {min(height, width) // 2 * 2 or 2} makes them so"
            )

    def start(self, model: nn.Module) -> None:
        """Make a linear head for each task."""
        width = feature_width(model, self.method)
        if "rotation" in self.tasks:
            self.rotation = nn.Linear(width, augment.TURNS)
        if "position" in self.tasks:
            self.place = nn.Linear(width, PLACES)

    def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """The losses: labels on the source, each other task on a half of the source and a half of the target."""
        target, n = require_target(batch, self.method), len(batch.labels)
        if n < 2:
            raise ValueError(f"a batch of {n}: {self.method} shares it between two tasks, so give it at least 2")
        half = n // 2
        turned, turns = batch.inputs[:0], batch.labels[:0]
        if "rotation" in self.tasks:
            turned, turns = augment.random_rotation(torch.cat([batch.inputs[:half], target[:half]]), batch.random)
        losses = []
        if "position" in self.tasks:
            quarters, places = random_quadrants(torch.cat([batch.inputs[half:], target[half:]]), batch.random)
            with keep_running_stats(model):
                losses.append(F.cross_entropy(self.place(compute_features(model, quarters)).float(), places))
        found = compute_features(model, torch.cat([batch.inputs, turned]))
        logits = model.fc(found[:n]).float()  # type: ignore[operator]
        if "rotation" in self.tasks:
            losses.append(F.cross_entropy(self.rotation(found[n:]).float(), turns))
        return F.cross_entropy(logits, batch.labels) + sum(losses), logits


@contextmanager
def keep_running_stats(model: nn.Module) -> Iterator[None]:
    """Keep what passes out of the running averages: whole images are tested on, and quarters' statistics differ."""
    norms = [each for each in model.modules() if isinstance(each, _BatchNorm) and each.track_running_stats]
    try:
        for norm in norms:
            norm.track_running_stats = False
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True


def compute_features(model: nn.Module, images: Tensor) -> Tensor:
    """What the heads see of images, which get their channels last in memory, as the network is."""
    return model.features(images.contiguous(memory_format=torch.channels_last))  # type: ignore[operator,no-any-return]


def cut_quadrants(images: Tensor, places: Tensor) -> Tensor:
    """Return of each image (n, c, h, w) the quarter (c, h/2, w/2) at its own place."""
    if images.dim() != 4 or images.shape[2] % 2 or images.shape[3] % 2:
        raise ValueError(
            f"images of shape {tuple(images.shape)}: only those of even height and width, (n, c, h, w), have quadrants"
        )
    n, channels, height, width = images.shape[0], images.shape[1], images.shape[2] // 2, images.shape[3] // 2
    out = images.new_empty(n, channels, height, width)
    for place in range(PLACES):
        chosen, top, left = places == place, place // 2 * height, place % 2 * width
        out[chosen] = images[chosen, :, top : top + height, left : left + width]
    return out


def random_quadrants(images: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return a quarter of each image from a place drawn at random, and the places, which are the labels."""
    places = torch.randint(PLACES, (len(images),), generator=random).to(images.device)
    return cut_quadrants(images, places), places
