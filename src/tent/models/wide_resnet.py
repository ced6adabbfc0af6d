"""WRN-40-2, the wide residual network that the robustness benchmarks on CIFAR share."""

import torch.nn.functional as F
from torch import Tensor, nn

from tent.models.resnet import Norm, he_normal


class WideBlock(nn.Module):
    """Norm, relu and convolution, twice; a projection starts from the activated input, as in Zagoruyko & Komodakis."""

    def __init__(self, channels: int, out_channels: int, stride: int, norm: Norm) -> None:
        super().__init__()
        self.norm1 = norm(channels)
        self.conv1 = nn.Conv2d(channels, out_channels, 3, stride, 1, bias=False)
        self.norm2 = norm(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, 1, 1, bias=False)
        same = channels == out_channels and stride == 1
        self.projection = None if same else nn.Conv2d(channels, out_channels, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Add to the input, or to its projection, what the two convolutions make of it."""
        active = F.relu(self.norm1(x))
        y: Tensor = self.conv2(F.relu(self.norm2(self.conv1(active))))
        return y + (x if self.projection is None else self.projection(active))


class WideResNet(nn.Module):
    """A stem of 16 channels, three stages at `width` times 16, 32 and 64 channels, global pooling, one linear layer."""

    def __init__(
        self, blocks: int = 6, width: int = 2, classes: int = 10, channels: int = 3, norm: Norm = nn.BatchNorm2d
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, 16, 3, 1, 1, bias=False)
        self.stage1 = wide_stage(blocks, 16, 16 * width, 1, norm)
        self.stage2 = wide_stage(blocks, 16 * width, 32 * width, 2, norm)
        self.stage3 = wide_stage(blocks, 32 * width, 64 * width, 2, norm)
        self.norm = norm(64 * width)
        self.fc = nn.Linear(64 * width, classes)
        he_normal(self)

    def features(self, x: Tensor) -> Tensor:
        """What the linear layer sees of a batch."""  # (n, 64 width)
        x = self.stage3(self.stage2(self.stage1(self.conv(x))))
        return F.relu(self.norm(x)).mean((2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Logits of a batch of images."""  # (n, classes)
        return self.fc(self.features(x))  # type: ignore[no-any-return]


def wide_stage(blocks: int, channels: int, out_channels: int, stride: int, norm: Norm) -> nn.Sequential:
    """Blocks in a row, of which the first changes channels and size."""
    first = WideBlock(channels, out_channels, stride, norm)
    return nn.Sequential(first, *(WideBlock(out_channels, out_channels, 1, norm) for _ in range(blocks - 1)))


def wrn40_2(classes: int = 10, channels: int = 3, norm: Norm = nn.BatchNorm2d) -> WideResNet:
    """WRN-40-2: 6 x 6 + 4 layers, twice as wide as R-26's."""
    return WideResNet(6, 2, classes, channels, norm)
