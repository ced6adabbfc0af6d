"""HRNet for segmentation: branches of several resolutions that run side by side (Wang et al., TPAMI 2020)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

EXPANSION = 4  # of a bottleneck's channels
MOMENTUM = 0.01  # of the running statistics, as the published networks were trained
STEM = 64
OTHER_HEADS = {  # parts of the authors' other networks, which have the same trunk
    "conv3x3_ocr": "an HRNet with OCR (it has {}), and this one has a plain head; bring weights without OCR",
    "incre_modules": "an ImageNet classifier (it has {}), and this one segments; bring weights of segmentation",
}


@dataclass(frozen=True)
class Plan:
    """The sizes of one network."""

    first: tuple[int, int]  # bottlenecks of stage 1, and their channels
    modules: tuple[int, int, int]  # of stages 2, 3 and 4, which have as many branches
    blocks: int  # of every branch of a module
    width: int  # channels of the finest branch; every coarser one has twice as many

    def channels(self, branches: int) -> list[int]:
        """Return the channels of each branch, the finest first."""
        return [self.width * 2**i for i in range(branches)]


PLANS = {
    "hrnet-w18": Plan((4, 64), (1, 4, 3), 4, 18),
    "hrnet-w18-small-v2": Plan((2, 64), (1, 3, 2), 2, 18),
    "hrnet-w18-small-v1": Plan((1, 32), (1, 1, 1), 2, 16),
}


def convolution(channels: int, out: int, side: int, stride: int = 1) -> nn.Conv2d:
    """Return a convolution of a square kernel that keeps the size, or divides it by the stride."""
    return nn.Conv2d(channels, out, side, stride, side // 2, bias=False)


def norm(channels: int) -> nn.BatchNorm2d:
    """Return a batch norm with the momentum of the published networks."""
    return nn.BatchNorm2d(channels, momentum=MOMENTUM)


def conv_norm_relu(channels: int, out: int, side: int, stride: int = 1, relu: bool = True) -> nn.Sequential:
    """Return a convolution, its norm, and a relu."""
    return nn.Sequential(convolution(channels, out, side, stride), norm(out), *([nn.ReLU()] if relu else []))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside the identity."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = convolution(channels, channels, 3), norm(channels)
        self.conv2, self.bn2 = convolution(channels, channels, 3), norm(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Add to the input what the convolutions make of it."""
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + x)


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions beside the identity, or beside a projection where the channels change."""

    def __init__(self, channels: int, planes: int) -> None:
        super().__init__()
        out = planes * EXPANSION
        self.conv1, self.bn1 = convolution(channels, planes, 1), norm(planes)
        self.conv2, self.bn2 = convolution(planes, planes, 3), norm(planes)
        self.conv3, self.bn3 = convolution(planes, out, 1), norm(out)
        self.downsample = None if channels == out else conv_norm_relu(channels, out, 1, relu=False)

    def forward(self, x: Tensor) -> Tensor:
        """Add to the input, or to its projection, what the convolutions make of it."""
        y = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        return F.relu(self.bn3(self.conv3(y)) + (x if self.downsample is None else self.downsample(x)))


class HRModule(nn.Module):
    """Blocks on every branch, then every branch becomes the sum of all, brought to its size."""

    def __init__(self, channels: Sequence[int], blocks: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList(nn.Sequential(*(BasicBlock(own) for _ in range(blocks))) for own in channels)
        places = range(len(channels))
        self.fuse_layers = nn.ModuleList(
            nn.ModuleList(_branch_to_branch(channels, j, i) for j in places) for i in places
        )

    def forward(self, branches: list[Tensor]) -> list[Tensor]:
        """Return the branches, each of its own size."""
        seen = [run(x) for run, x in zip(self.branches, branches, strict=True)]
        return [self._fuse(seen, place, bring) for place, bring in enumerate(self.fuse_layers)]  # type: ignore[arg-type]

    def _fuse(self, seen: list[Tensor], place: int, bring: nn.ModuleList) -> Tensor:
        size = seen[place].shape[2:]
        parts = [_resize(change(x), size) for x, change in zip(seen, bring, strict=True)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return F.relu(total)


class HRNet(nn.Module):
    """A stem of stride 4, four stages of one to four branches, and a head on all of them.

    Logits are of a quarter of the input's height and width. The names of its parts are those of the published weights.
    """

    def __init__(self, plan: Plan, classes: int = 19) -> None:
        super().__init__()
        blocks, planes = plan.first
        self.conv1, self.bn1 = convolution(3, STEM, 3, 2), norm(STEM)
        self.conv2, self.bn2 = convolution(STEM, STEM, 3, 2), norm(STEM)
        wide = planes * EXPANSION
        self.layer1 = nn.Sequential(*(Bottleneck(wide if i else STEM, planes) for i in range(blocks)))
        two, three, four = (plan.channels(branches) for branches in (2, 3, 4))
        self.transition1, self.stage2 = _transition([wide], two), _stage(two, plan.modules[0], plan.blocks)
        self.transition2, self.stage3 = _transition(two, three), _stage(three, plan.modules[1], plan.blocks)
        self.transition3, self.stage4 = _transition(three, four), _stage(four, plan.modules[2], plan.blocks)
        last = nn.Conv2d(sum(four), sum(four), 1)
        self.last_layer = nn.Sequential(last, norm(sum(four)), nn.ReLU(), nn.Conv2d(sum(four), classes, 1))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")

    def features(self, x: Tensor) -> Tensor:
        """What the last layer sees of each pixel: all branches at the size of the finest, after the head's relu."""
        x = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        branches = [self.layer1(x)]
        for change, stage in (
            (self.transition1, self.stage2),
            (self.transition2, self.stage3),
            (self.transition3, self.stage4),
        ):
            branches = stage([layer(branches[min(i, len(branches) - 1)]) for i, layer in enumerate(change)])
        joined = torch.cat([_resize(branch, branches[0].shape[2:]) for branch in branches], 1)
        return self.last_layer[:3](joined)  # type: ignore[no-any-return]

    def forward(self, x: Tensor) -> Tensor:
        """Logits of a batch of images."""  # (n, classes, h / 4, w / 4)
        return self.last_layer[3](self.features(x))  # type: ignore[no-any-return]

    @staticmethod
    def rename(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return published weights under this network's names: without their wrapper, their loss and its weights."""
        own = {name: tensor for name, tensor in state.items() if not name.startswith("loss.")}
        if own and all(name.startswith("model.") for name in own):
            own = {name.removeprefix("model."): tensor for name, tensor in own.items()}
        for part, words in OTHER_HEADS.items():
            if any(name.startswith(f"{part}.") for name in own):
                raise ValueError(words.format(part))
        counts = {  # that older versions of torch did not write
            name.replace("running_mean", "num_batches_tracked"): torch.tensor(0)
            for name in own
            if name.endswith("running_mean")
        }
        return {**counts, **own}


def _branch_to_branch(channels: Sequence[int], source: int, target: int) -> nn.Module:
    """Return what brings one branch to another: 1x1 where it is coarser, and is resized then, else strided 3x3s."""
    if source == target:
        return nn.Identity()
    if source > target:
        return conv_norm_relu(channels[source], channels[target], 1, relu=False)
    strides = [conv_norm_relu(channels[source], channels[source], 3, 2) for _ in range(target - source - 1)]
    return nn.Sequential(*strides, conv_norm_relu(channels[source], channels[target], 3, 2, relu=False))


def _transition(before: Sequence[int], after: Sequence[int]) -> nn.ModuleList:
    """Return what makes the branches of a stage out of those before; the new one comes from the coarsest."""
    kept = [
        nn.Identity() if old == new else conv_norm_relu(old, new, 3) for old, new in zip(before, after, strict=False)
    ]
    return nn.ModuleList([*kept, nn.Sequential(conv_norm_relu(before[-1], after[-1], 3, 2))])


def _stage(channels: Sequence[int], modules: int, blocks: int) -> nn.Sequential:
    return nn.Sequential(*(HRModule(channels, blocks) for _ in range(modules)))


def _resize(x: Tensor, size: torch.Size) -> Tensor:
    if x.shape[2:] == size:
        return x
    return F.interpolate(x, size=tuple(size), mode="bilinear", align_corners=False)
