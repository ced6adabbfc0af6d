"""WRN-40-2, the wide residual network that the robustness benchmarks on CIFAR share."""

import torch.nn.functional as F
from torch import Tensor, nn

from tent.models.resnet import Norm, ResNet


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


def wrn40_2(classes: int = 10, channels: int = 3, norm: Norm = nn.BatchNorm2d) -> ResNet:
    """WRN-40-2: 6 x 6 + 4 layers, twice as wide as R-26."""
    return ResNet(6, classes, channels, norm, width=2, block=WideBlock)
