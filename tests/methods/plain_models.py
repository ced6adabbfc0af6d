"""What references share: copies of a model in plain torch, images in [0, 1], and the numbers that a method draws."""

import copy
import zlib

import numpy as np
import torch
from torch import Tensor, nn

import tent

VIEWED = tent.Pixels((0.5, 0.4, 0.3), (0.25, 0.2, 0.3))


def by_batch(model: nn.Module) -> nn.Module:
    """Return a copy whose batch norms use the batch's statistics, with gradients everywhere."""
    model = copy.deepcopy(model).eval().requires_grad_(True)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.train()
            module.track_running_stats = False
            module.running_mean = module.running_var = None
    return model


def norm_params(model: nn.Module) -> list[nn.Parameter]:
    return [p for m in model.modules() if isinstance(m, nn.BatchNorm2d | nn.GroupNorm) for p in m.parameters()]


def images(count: int, size: int = 7, seed: int = 3, channels: int = 3) -> list[Tensor]:
    """Return batches in [0, 1], each image with a colour of its own."""
    random = torch.Generator().manual_seed(seed)
    colors = torch.rand(count * size, channels, 1, 1, generator=random, dtype=torch.float64)
    noise = torch.rand(count * size, channels, 8, 8, generator=random, dtype=torch.float64)
    return list((0.6 * colors + 0.4 * noise).split(size))


def draws(name: str, step: int) -> torch.Generator:
    """Return the numbers that a state draws by this name in this step."""
    seed = np.random.SeedSequence((zlib.crc32(name.encode()), step, 0)).generate_state(1)[0]
    return torch.Generator().manual_seed(int(seed))


def view(x: Tensor, change, pixels: tent.Pixels = VIEWED) -> Tensor:  # type: ignore[no-untyped-def]
    """Return normalised images after a change of their values in [0, 1]."""
    mean, std = (torch.tensor(part, dtype=x.dtype).view(1, -1, 1, 1) for part in (pixels.mean, pixels.std))
    return (change((x * std + mean).clamp(0, 1)) - mean) / std


def normalise(x: Tensor, pixels: tent.Pixels = VIEWED) -> Tensor:
    mean, std = (torch.tensor(part, dtype=x.dtype).view(1, -1, 1, 1) for part in (pixels.mean, pixels.std))
    return (x - mean) / std


def move(slow: nn.Module, fast: nn.Module, keep: float) -> None:
    """Keep a share of every parameter, and take the rest from another model."""
    with torch.no_grad():
        for mine, theirs in zip(slow.parameters(), fast.parameters(), strict=True):
            mine.copy_(keep * mine + (1 - keep) * theirs)


def soft_cross_entropy(x: Tensor, target: Tensor) -> Tensor:
    return -(target.softmax(1) * x.log_softmax(1)).sum(1)


def close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=0, atol=1e-9)


def same_params(adapted: tent.Adapted, model: nn.Module) -> bool:
    theirs = dict(model.named_parameters())
    return all(close(param, theirs[name]) for name, param in adapted.named_parameters())
