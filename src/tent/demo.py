"""The demo: a tiny network trained on the spot on made images, which are then shifted, and adapted to."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tent.adapted import adapt
from tent.methods import METHODS

CLASSES, SIZE, BATCH = 8, 16, 100
SHIFTS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "noise": lambda x: x + 0.6 * torch.randn_like(x),
    "contrast": lambda x: 0.25 * x + 0.5,
    "fog": lambda x: 0.5 * x + 1.2 * torch.linspace(0, 1, SIZE)[:, None],
}


def gratings(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Make images of stripes at one of eight angles, of any phase and width, with noise; the angle is the class."""
    labels = torch.randint(CLASSES, (count,), generator=generator)
    angle = labels * torch.pi / CLASSES + 0.1 * torch.randn(count, generator=generator)
    phase, width = torch.rand(2, count, 1, 1, generator=generator)
    axis = torch.linspace(-1, 1, SIZE)
    along = angle.cos()[:, None, None] * axis + angle.sin()[:, None, None] * axis[:, None]  # (n, size, size)
    images = torch.sin((5 + 4 * width) * along + 2 * torch.pi * phase)
    colours = 0.5 + torch.rand(count, 3, 1, 1, generator=generator)
    return images[:, None] * colours + 0.3 * torch.randn(count, 3, SIZE, SIZE, generator=generator), labels


def trained(progress: Callable[..., Iterable[Any]], seed: int = 0, steps: int = 200) -> nn.Module:
    """Train a network of three convolutions and batch norms on unshifted gratings."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    blocks = [
        nn.Sequential(nn.Conv2d(a, b, 3, stride=s, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU())
        for a, b, s in ((3, 16, 1), (16, 32, 2), (32, 32, 2))
    ]
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, CLASSES))
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in progress(range(steps), description="training a tiny source model"):
        x, y = gratings(BATCH, generator)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model.eval()


def errors(model: nn.Module, seed: int = 0, batches: int = 20) -> dict[str, list[float]]:
    """Return each method's error under each shift, online over one pass."""
    table: dict[str, list[float]] = {name: [] for name in METHODS}
    for shift in SHIFTS.values():
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed + 1)
        stream = [(shift(x), y) for x, y in (gratings(BATCH, generator) for _ in range(batches))]
        for name, method in METHODS.items():
            adapted = adapt(model, method())
            wrong = sum(int((adapted(x).argmax(1) != y).sum()) for x, y in stream)
            table[name].append(wrong / (BATCH * batches))
    return table
