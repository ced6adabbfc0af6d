"""SAN, the self-attention network of Zhao, Jia and Koltun (CVPR 2020): pairwise or patchwise, in plain PyTorch."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tent.models.architectures.footprints import aggregate
from tent.models.resnet import Norm

BLOCKS = {10: (2, 1, 2, 4, 1), 15: (3, 2, 3, 5, 2), 19: (3, 3, 4, 6, 3)}  # of the five stages
FOOTPRINTS = (3, 7, 7, 7, 7)
CHANNELS = (1, 4, 8, 16, 32)  # of the five stages, in multiples of the stem's
STEM, RELATION, MIDDLE, SHARED = 64, 16, 4, 8  # stem; stage to relation, stage to middle; channels that share a weight
POOLS = (True, True, True, True, True)  # whether a stage begins at half the size
POOLS_CIFAR = (False, True, True, True, False)  # 32, 16, 8, 4 and 4 pixels a side: five would leave a single one
KINDS = ("pair", "patch")


class MatrixConv(nn.Conv2d):
    """A 1x1 convolution as a product of matrices, which is faster where there are few channels and many places."""

    def __init__(self, channels: int, out_channels: int, bias: bool = True) -> None:
        super().__init__(channels, out_channels, 1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return what the convolution does."""
        y = torch.bmm(self.weight.flatten(1).expand(x.shape[0], -1, -1), x.flatten(2))  # matmul would copy x
        y = y if self.bias is None else y + self.bias[:, None].to(y.dtype)
        return y.view(*y.shape[:2], *x.shape[2:])


class Attention(nn.Module):
    """Weighs a pixel's footprint by what the weights' own small network makes of it."""

    def __init__(self, channels: int, footprint: int, norm: Norm) -> None:
        super().__init__()
        self.footprint, self.reach = footprint, footprint // 2
        relation, middle = channels // RELATION, channels // MIDDLE
        self.relation, self.middle, self.weights = relation, middle, max(1, middle // SHARED)
        self.query = nn.Conv2d(channels, relation, 1)
        self.key = nn.Conv2d(channels, relation, 1)
        self.value = nn.Conv2d(channels, middle, 1)

    def pad(self, x: Tensor) -> Tensor:
        """Reflect the border, so that every pixel has a whole footprint."""
        return F.pad(x, (self.reach,) * 4, mode="reflect")

    def patches(self, x: Tensor) -> Tensor:
        """Return every pixel's footprint."""  # (n, channels, footprint², height * width)
        n, channels, height, width = x.shape
        return F.unfold(self.pad(x), self.footprint).view(n, channels, self.footprint**2, height * width)

    def weigh(self, query: Tensor, key: Tensor) -> Tensor:
        """Return the weights of every pixel's footprint."""  # (n, weights, footprint², height * width)
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return every pixel's weighted sum."""
        weight = self.weigh(self.query(x), self.key(x))
        return aggregate(self.pad(self.value(x)), weight.view(*weight.shape[:3], *x.shape[2:]))


class Pairwise(Attention):
    """Weights from the differences of features and of places, one pair of pixels at a time; they add up to one."""

    def __init__(self, channels: int, footprint: int, norm: Norm) -> None:
        super().__init__(channels, footprint, norm)
        self.place = nn.Conv2d(2, 2, 1)
        self.relate = nn.Sequential(
            norm(self.relation + 2),
            nn.ReLU(),
            MatrixConv(self.relation + 2, self.relation, bias=False),
            norm(self.relation),
            nn.ReLU(),
            MatrixConv(self.relation, self.weights),
        )

    def weigh(self, query: Tensor, key: Tensor) -> Tensor:
        """Return weights that add up to one over the footprint."""
        place = self.place(positions(query))
        features = query.flatten(2).unsqueeze(2) - self.patches(key)
        places = (place.flatten(2).unsqueeze(2) - self.patches(place)).expand(len(query), -1, -1, -1)
        return self.relate(torch.cat([features, places], 1)).softmax(2)  # type: ignore[no-any-return]


class Patchwise(Attention):
    """Weights from the whole footprint at once, of any sign and sum."""

    def __init__(self, channels: int, footprint: int, norm: Norm) -> None:
        super().__init__(channels, footprint, norm)
        seen = self.relation * (footprint**2 + 1)  # the footprint, and the pixel in its middle
        self.relate = nn.Sequential(
            norm(seen),
            nn.ReLU(),
            MatrixConv(seen, self.weights, bias=False),
            norm(self.weights),
            nn.ReLU(),
            MatrixConv(self.weights, footprint**2 * self.weights),
        )

    def weigh(self, query: Tensor, key: Tensor) -> Tensor:
        """Return weights that no softmax bounds."""
        n, _, height, width = query.shape
        seen = torch.cat([query, self.patches(key).view(n, self.relation * self.footprint**2, height, width)], 1)
        return self.relate(seen).reshape(n, self.weights, self.footprint**2, height * width)  # type: ignore[no-any-return]


class Block(nn.Module):
    """Norm, relu and attention, norm, relu and a 1x1 convolution; the input goes past them."""

    def __init__(self, attention: type[Attention], channels: int, footprint: int, norm: Norm) -> None:
        super().__init__()
        self.norm1 = norm(channels)
        self.attention = attention(channels, footprint, norm)
        self.norm2 = norm(channels // MIDDLE)
        self.conv = nn.Conv2d(channels // MIDDLE, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Add to the input what attention makes of it."""
        return x + self.conv(F.relu(self.norm2(self.attention(F.relu(self.norm1(x))))))  # type: ignore[no-any-return]


class SAN(nn.Module):
    """A stem, five stages of attention with 1x1 transitions before them, global pooling, one linear layer.

    Args:
        kind: `pair` or `patch`.
        width: times 64 channels of the stem: a multiple of a quarter.
        pools: whether each stage begins at half of the size before it.
    """

    def __init__(
        self,
        kind: str,
        blocks: tuple[int, ...],
        classes: int = 1000,
        channels: int = 3,
        norm: Norm = nn.BatchNorm2d,
        *,
        width: float = 1,
        pools: tuple[bool, ...] = POOLS,
    ) -> None:
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"no self-attention {kind!r}; there are {', '.join(KINDS)}")
        first = int(STEM * width)
        if first < RELATION or first % RELATION or first != STEM * width:
            raise ValueError(f"width {width}: a SAN's is a multiple of {RELATION / STEM}, such as 0.25, 0.5 or 1")
        self.pools, attention = pools, Pairwise if kind == "pair" else Patchwise
        sizes = [first, *(first * times for times in CHANNELS)]
        self.stem = nn.Sequential(nn.Conv2d(channels, first, 1, bias=False), norm(first), nn.ReLU())
        self.stages = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(before, size, 1, bias=False),
                *(Block(attention, size, footprint, norm) for _ in range(count)),
                norm(size),
                nn.ReLU(),
            )
            for before, size, count, footprint in zip(sizes, sizes[1:], blocks, FOOTPRINTS, strict=False)
        )
        self.fc = nn.Linear(sizes[-1], classes)

    def features(self, x: Tensor) -> Tensor:
        """What the linear layer sees of a batch."""  # (n, 2048 width)
        self.check_size(*x.shape[2:])
        x = self.stem(x)
        for stage, pool in zip(self.stages, self.pools, strict=True):
            x = stage(F.max_pool2d(x, 2) if pool else x)
        return x.mean((2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Logits of a batch of images."""  # (n, classes)
        return self.fc(self.features(x))  # type: ignore[no-any-return]

    def check_size(self, height: int, width: int) -> None:
        """Refuse images of which a stage sees less than it reflects: a footprint reaches over half of its side."""
        halvings, needed = 0, 1
        for footprint, pool in zip(FOOTPRINTS, self.pools, strict=True):
            halvings += pool
            needed = max(needed, (footprint // 2 + 1) * 2**halvings)
        if min(height, width) < needed:
            raise ValueError(
                f"images of {height}x{width} are too small for this SAN, whose footprints need {needed} pixels a side; "
                f"resize them with --size {needed}, or in Python build it with fewer pools"
            )


def positions(x: Tensor) -> Tensor:
    """Return where every pixel lies, from -1 to 1 along each axis."""  # (1, 2, height, width)
    down, right = (torch.linspace(-1.0, 1.0, side, dtype=x.dtype, device=x.device) for side in x.shape[2:])
    return torch.stack(torch.meshgrid(right, down, indexing="xy"))[None]


def san(depth: int, kind: str, classes: int = 1000, width: float = 1) -> SAN:
    """SAN-10, SAN-15 or SAN-19 for ImageNet: a stage begins at half of the size before it, five times."""
    if depth not in BLOCKS:
        raise ValueError(f"no SAN-{depth}; there are {', '.join(f'SAN-{each}' for each in BLOCKS)}")
    return SAN(kind, BLOCKS[depth], classes, width=width)


def san_cifar(
    kind: str, depth: int = 10, classes: int = 10, channels: int = 3, norm: Norm = nn.BatchNorm2d, width: float = 1
) -> SAN:
    """A SAN for images of 32 pixels: three poolings instead of five."""
    return SAN(kind, BLOCKS[depth], classes, channels, norm, width=width, pools=POOLS_CIFAR)
