"""DenseNet-BC, the network of the public CIFAR models: a layer sees all that came before it (Huang et al., 2017)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BOTTLENECK = 4  # channels of a layer's 1x1 convolution, in multiples of the growth
COMPRESSION = 2  # channels into a transition for each that leaves it


class Layer(nn.Module):
    """Norm, relu and convolution, 1x1 and then 3x3; what it adds stands behind what it was given."""

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, BOTTLENECK * growth, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(BOTTLENECK * growth)
        self.conv2 = nn.Conv2d(BOTTLENECK * growth, growth, 3, 1, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Append `growth` channels."""
        new = self.conv2(F.relu(self.bn2(self.conv1(F.relu(self.bn1(x))))))
        return torch.cat([x, new], 1)


class Block(nn.Module):
    """Layers in a row; `layer` is what the published weights call them."""

    def __init__(self, layers: int, channels: int, growth: int) -> None:
        super().__init__()
        self.layer = nn.Sequential(*(Layer(channels + i * growth, growth) for i in range(layers)))

    def forward(self, x: Tensor) -> Tensor:
        """Append what every layer adds."""
        return self.layer(x)  # type: ignore[no-any-return]


class Transition(nn.Module):
    """Between blocks: half of the channels, at half of the size."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, channels // COMPRESSION, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Mix the channels, then pool."""
        return F.avg_pool2d(self.conv1(F.relu(self.bn1(x))), 2)


class DenseNet(nn.Module):
    """A stem of twice the growth, three blocks with transitions between them, global pooling, one linear layer.

    The names of its parts are those of the published weights.
    """

    def __init__(self, depth: int = 100, growth: int = 12, classes: int = 10) -> None:
        super().__init__()
        layers, left = divmod(depth - 4, 6)  # three blocks of layers of two convolutions, and four other layers
        if left:
            raise ValueError(f"depth {depth}: a DenseNet-BC has 6 n + 4 layers, such as 100")
        first = 2 * growth
        second = (first + layers * growth) // COMPRESSION
        third = (second + layers * growth) // COMPRESSION
        self.conv1 = nn.Conv2d(3, first, 3, 1, 1, bias=False)
        self.block1, self.trans1 = Block(layers, first, growth), Transition(first + layers * growth)
        self.block2, self.trans2 = Block(layers, second, growth), Transition(second + layers * growth)
        self.block3 = Block(layers, third, growth)
        self.bn1 = nn.BatchNorm2d(third + layers * growth)
        self.fc = nn.Linear(third + layers * growth, classes)

    def features(self, x: Tensor) -> Tensor:
        """What the linear layer sees of a batch."""
        x = self.trans2(self.block2(self.trans1(self.block1(self.conv1(x)))))
        return F.relu(self.bn1(self.block3(x))).mean((2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Logits of a batch of images."""  # (n, classes)
        return self.fc(self.features(x))  # type: ignore[no-any-return]
