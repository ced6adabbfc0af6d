"""The function whose equilibrium an MDEQ looks for: a block a resolution, and bridges between all of them."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

EXPANSION, GROUPS = 5, 8
# Drawn at random, the function has no equilibrium that a solver would find. It begins where it has one: what the image
# injects is large beside the state, and what lower resolutions add is small.
INJECTION_SCALE, LOW_RESOLUTION_SCALE = 4.0, 0.05
Maps = list[Tensor]  # one a resolution, each half as large as the one before


class NormalisedConv(nn.Module):
    """A convolution whose kernels have a direction and a length of their own (weight normalisation)."""

    def __init__(self, channels: int, out_channels: int, side: int, start: float = 1.0) -> None:
        super().__init__()
        first = nn.Conv2d(channels, out_channels, side, bias=False).weight.detach()
        self.direction = nn.Parameter(first)
        self.length = nn.Parameter(start * torch.linalg.vector_norm(first, dim=(1, 2, 3), keepdim=True))

    def forward(self, x: Tensor) -> Tensor:
        """Convolve at the size of the input."""
        size = torch.linalg.vector_norm(self.direction, dim=(1, 2, 3), keepdim=True)
        return F.conv2d(x, self.direction * (self.length / size), padding=self.direction.shape[-1] // 2)


class Block(nn.Module):
    """A residual block of one resolution, into which the image is injected."""

    def __init__(self, channels: int, dropout: float, scale: float) -> None:
        super().__init__()
        inner = EXPANSION * channels
        self.conv1, self.norm1 = NormalisedConv(channels, inner, 3), group_norm(inner)
        self.conv2, self.norm2 = NormalisedConv(inner, channels, 3, start=0.1), group_norm(channels, INJECTION_SCALE)
        self.norm3, self.dropout = group_norm(channels, scale), dropout

    def forward(self, z: Tensor, injected: Tensor | None, mask: Tensor | None) -> Tensor:
        """Return the next state of this resolution, before the others are heard."""
        y: Tensor = self.conv2(F.relu(self.norm1(self.conv1(z))))
        y = y if mask is None else y * mask
        y = y if injected is None else y + injected
        return self.norm3(F.relu(self.norm2(y) + z))  # type: ignore[no-any-return]

    def mask(self, z: Tensor) -> Tensor | None:
        """Return one draw of dropout for all steps of a search, or None in eval mode."""
        return F.dropout(torch.ones_like(z), self.dropout) if self.training and self.dropout else None


class Down(nn.Sequential):
    """From one resolution to a lower one: a convolution of stride 2 for each halving."""

    def __init__(self, channels: int, out_channels: int, halvings: int, scale: float) -> None:
        layers: list[nn.Module] = []
        for _ in range(halvings - 1):
            layers += [nn.Conv2d(channels, channels, 3, 2, 1, bias=False), group_norm(channels), nn.ReLU()]
        layers += [nn.Conv2d(channels, out_channels, 3, 2, 1, bias=False), group_norm(out_channels, scale)]
        super().__init__(*layers)


class Up(nn.Sequential):
    """From one resolution to a higher one: a 1x1 convolution, then each pixel repeated."""

    def __init__(self, channels: int, out_channels: int, doublings: int, scale: float) -> None:
        conv = nn.Conv2d(channels, out_channels, 1, bias=False)
        super().__init__(conv, group_norm(out_channels, scale), nn.Upsample(scale_factor=2**doublings))


class Fuse(nn.Module):
    """What one resolution makes of its own state and all others'."""

    def __init__(self, channels: Sequence[int], to: int) -> None:
        super().__init__()
        self.bridges = nn.ModuleList(bridge(channels, source, to) for source in range(len(channels)))
        self.mix = NormalisedConv(channels[to], channels[to], 1)
        self.norm = nn.GroupNorm(GROUPS // 2, channels[to], affine=False)

    def forward(self, z: Maps) -> Tensor:
        """Add up what the bridges bring, and mix its channels."""
        total, *others = [carry(own) for carry, own in zip(self.bridges, z, strict=True)]
        for other in others:
            total = total + other
        return self.norm(self.mix(F.relu(total)))  # type: ignore[no-any-return]


class Cell(nn.Module):
    """A block a resolution, then every resolution hears all others."""

    def __init__(self, channels: Sequence[int], dropout: float) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(own, dropout, initial_scale(level)) for level, own in enumerate(channels))
        self.fuse = nn.ModuleList(Fuse(channels, to) for to in range(len(channels)))

    def forward(self, z: Maps, injected: Tensor, masks: Sequence[Tensor | None]) -> Maps:
        """Return the next state; the image enters at the top resolution."""
        given = [injected, *(None for _ in z[1:])]
        y = [block(*own) for block, *own in zip(self.blocks, z, given, masks, strict=True)]
        return [fuse(y) for fuse in self.fuse]


def group_norm(channels: int, scale: float = 1.0) -> nn.GroupNorm:
    """A group norm that begins at a scale."""
    norm = nn.GroupNorm(GROUPS, channels)
    nn.init.constant_(norm.weight, scale)
    return norm


def bridge(channels: Sequence[int], source: int, to: int) -> nn.Module:
    """Return what carries one resolution's state to another."""
    if source == to:
        return nn.Identity()
    kind = Down if source < to else Up
    return kind(channels[source], channels[to], abs(source - to), initial_scale(source))


def initial_scale(level: int) -> float:
    """Return the scale that a resolution has before training."""
    return LOW_RESOLUTION_SCALE if level else 1.0
