"""R-26, the residual network for 32x32 images on which test-time training and Tent are reported."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

Norm = Callable[[int], nn.Module]
MakeBlock = Callable[[int, int, int, Norm], nn.Module]  # channels in, channels out, stride, norm


class Shortcut(nn.Module):
    """The way past a block that changes shape: average pooling, then zeros for the new channels."""

    def __init__(self, channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.stride, self.new = stride, out_channels - channels

    def forward(self, x: Tensor) -> Tensor:
        """Pool and pad, with no parameter of its own."""
        return F.pad(F.avg_pool2d(x, self.stride, ceil_mode=True), (0, 0, 0, 0, 0, self.new))


class PreActivation(nn.Module):
    """Norm, relu and convolution, twice; what goes past them is a subclass's own."""

    def __init__(self, channels: int, out_channels: int, stride: int, norm: Norm) -> None:
        super().__init__()
        self.norm1 = norm(channels)
        self.conv1 = nn.Conv2d(channels, out_channels, 3, stride, 1, bias=False)
        self.norm2 = norm(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, 1, 1, bias=False)
        self.same_shape = channels == out_channels and stride == 1

    def convolve(self, active: Tensor) -> Tensor:
        """Return what the two convolutions make of the activated input."""
        return self.conv2(F.relu(self.norm2(self.conv1(active))))  # type: ignore[no-any-return]


class Block(PreActivation):
    """A basic block whose input goes past it as it is, pooled where the shape changes."""

    def __init__(self, channels: int, out_channels: int, stride: int, norm: Norm) -> None:
        super().__init__(channels, out_channels, stride, norm)
        self.shortcut = nn.Identity() if self.same_shape else Shortcut(channels, out_channels, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Add to the input what the two convolutions make of it."""
        return self.convolve(F.relu(self.norm1(x))) + self.shortcut(x)  # type: ignore[no-any-return]


class ResNet(nn.Module):
    """A stem of 16 channels, three stages of blocks at `width` times 16, 32 and 64, global pooling, one linear layer.

    R-26 follows the ResNet-26 of Sun et al. (test-time training, ICML 2020): pre-activation blocks, and shortcuts
    without parameters where the shape changes. `norm` makes a layer from its number of channels.
    """

    def __init__(
        self,
        blocks: int = 4,
        classes: int = 10,
        channels: int = 3,
        norm: Norm = nn.BatchNorm2d,
        *,
        width: int = 1,
        block: MakeBlock = Block,
    ) -> None:
        super().__init__()
        first, second, third = 16 * width, 32 * width, 64 * width
        self.conv = nn.Conv2d(channels, 16, 3, 1, 1, bias=False)
        self.stage1 = stage(block, blocks, 16, first, 1, norm)
        self.stage2 = stage(block, blocks, first, second, 2, norm)
        self.stage3 = stage(block, blocks, second, third, 2, norm)
        self.norm = norm(third)
        self.fc = nn.Linear(third, classes)
        he_normal(self)

    def features(self, x: Tensor) -> Tensor:
        """What the linear layer sees of a batch."""  # (n, 64 width)
        x = self.stage3(self.stage2(self.stage1(self.conv(x))))
        return F.relu(self.norm(x)).mean((2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Logits of a batch of images."""  # (n, classes)
        return self.fc(self.features(x))  # type: ignore[no-any-return]


def stage(block: MakeBlock, blocks: int, channels: int, out_channels: int, stride: int, norm: Norm) -> nn.Sequential:
    """Blocks in a row, of which the first changes channels and size."""
    first = block(channels, out_channels, stride, norm)
    return nn.Sequential(first, *(block(out_channels, out_channels, 1, norm) for _ in range(blocks - 1)))


def he_normal(model: nn.Module) -> None:
    """Start convolutions at the variance that keeps a relu network's gradients level (He et al., 2015)."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def r26(classes: int = 10, channels: int = 3, norm: Norm = nn.BatchNorm2d, width: int = 1) -> ResNet:
    """R-26: 6 x 4 + 2 layers."""
    return ResNet(4, classes, channels, norm, width=width)


def group_norm(channels: int) -> nn.GroupNorm:
    """Eight groups, as in test-time training: it needs no batch, so single images can be learnt from."""
    return nn.GroupNorm(8, channels)
