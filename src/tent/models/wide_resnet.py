"""WRN-40-2, the wide residual network that the robustness benchmarks on CIFAR share."""

import torch.nn.functional as F
from torch import Tensor, nn

from tent.models.resnet import Norm, PreActivation, ResNet


class WideBlock(PreActivation):
    """A basic block whose projection starts from the activated input, as in Zagoruyko & Komodakis."""

    def __init__(self, channels: int, out_channels: int, stride: int, norm: Norm) -> None:
        super().__init__(channels, out_channels, stride, norm)
        self.projection = None if self.same_shape else nn.Conv2d(channels, out_channels, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Add to the input, or to its projection, what the two convolutions make of it."""
        active = F.relu(self.norm1(x))
        return self.convolve(active) + (x if self.projection is None else self.projection(active))


def wrn40_2(classes: int = 10, channels: int = 3, norm: Norm = nn.BatchNorm2d) -> ResNet:
    """WRN-40-2: 6 x 6 + 4 layers, twice as wide as R-26."""
    return ResNet(6, classes, channels, norm, width=2, block=WideBlock)
