"""Toy nets that take seconds on a CPU, and the batches they are given."""

import copy
from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CLASSES = 5


class DropPath(nn.Module):
    """Stochastic depth as timm does it: drawn by hand, so that only eval mode turns it off."""

    def forward(self, x: Tensor) -> Tensor:
        return x * (torch.rand(len(x), 1, 1, 1) > 0.5) if self.training else x


def conv_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Dropout(0.5),
        DropPath(),
        nn.Conv2d(8, 8, 3, stride=2),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, CLASSES),
    )


def mixed_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.GroupNorm(2, 8),
        nn.GELU(),
        nn.Conv2d(8, 8, 3),
        nn.BatchNorm2d(8),
        nn.GELU(),
        nn.Conv2d(8, 8, 1),
        nn.InstanceNorm2d(8, affine=True),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.LayerNorm(8),
        nn.Linear(8, 16),
        nn.RMSNorm(16),
        nn.Linear(16, CLASSES),
    )


class Residual(nn.Module):
    """A small residual net that returns a dict, as torchvision's segmentation models do."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(8)
        self.classifier = nn.Conv2d(8, CLASSES, 1)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        x = F.relu(self.bn1(self.stem(x)))
        x = F.relu(x + self.bn2(self.conv(x)))
        return {"out": self.classifier(x)}


class TwoHeads(nn.Module):
    """A net that also tells quarter turns apart, from a branch behind its shared part."""

    def __init__(self, trunk: nn.Module, classifier: nn.Module, norm: nn.Module) -> None:
        super().__init__()
        self.trunk, self.classifier, self.shared = trunk, classifier, ("trunk",)
        # no pooling: a turn changes nothing but the places of pixels
        self.branch = nn.Sequential(nn.Conv2d(8, 8, 3), norm, nn.ReLU(), nn.Flatten(), nn.Linear(8 * 4 * 4, 4))

    def forward(self, x: Tensor, head: str = "classes") -> object:
        x = self.trunk(x)
        return self.branch(x) if head == "rotation" else self.classifier(x)


class PatchNorm(nn.LayerNorm):
    """A layer norm over the channels of images, as ConvNeXt has it."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.movedim(1, -1)).movedim(-1, 1)


class Maps(nn.Module):
    """A classifier of pixels that returns a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(8), nn.Conv2d(8, CLASSES, 1)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"out": self.conv(self.norm(x))}


def two_heads(norm: Callable[[], nn.Module], maps: bool = False) -> nn.Module:
    trunk = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), norm(), nn.ReLU(), nn.Dropout(0.5), DropPath(), nn.Conv2d(8, 8, 3), norm()
    )
    pooled = nn.Sequential(nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, CLASSES))
    return TwoHeads(trunk, Maps() if maps else pooled, norm())


class Pooled(nn.Module):
    """A classifier of images that returns its logits in a dict, beside something else."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3))
        self.norm, self.classifier = nn.BatchNorm2d(8), nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        pooled = F.relu(self.norm(self.body(x))).mean((2, 3))
        return {"pooled": pooled, "out": self.classifier(pooled)}


NETS: dict[str, Callable[[], nn.Module]] = {"conv": conv_net, "mixed": mixed_net, "residual": Residual}
CLASSIFIERS: dict[str, Callable[[], nn.Module]] = {"pooled": Pooled}  # one label an image
TWO_HEADED: dict[str, Callable[[], nn.Module]] = {
    "batch-norm-two-heads": partial(two_heads, partial(nn.BatchNorm2d, 8)),
    "group-norm-two-heads": partial(two_heads, partial(nn.GroupNorm, 2, 8)),
    "layer-norm-two-heads": partial(two_heads, partial(PatchNorm, 8)),
    "maps-two-heads": partial(two_heads, partial(nn.BatchNorm2d, 8), maps=True),
}


def made(name: str, seed: int = 0, warm: bool = True) -> nn.Module:
    """Return a toy net with lively parameters and statistics, in eval mode."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = {**NETS, **CLASSIFIERS, **TWO_HEADED}[name]()
        for parameter in net.parameters():
            if parameter.dim() == 1:
                nn.init.normal_(parameter, 1.0, 0.2)
        net.train()
        for _ in range(3 if warm else 0):
            with torch.no_grad():
                net(torch.randn(16, 3, 8, 8))
    return net.eval()


def batches(count: int, size: int = 6, seed: int = 1) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(size, 3, 8, 8, generator=generator) * 1.5 + 0.5 for _ in range(count)]


def logits(output: object) -> Tensor:
    return output["out"] if isinstance(output, dict) else output  # type: ignore[return-value]


def alike(one: nn.Module, other: nn.Module) -> bool:
    """Tell whether two states are the same, to the bit."""
    ours, theirs = one.state_dict(), other.state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


class Photograph:
    """Everything about a model that an adaptation might change, to compare later."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.state = copy.deepcopy(dict(model.state_dict()))
        self.rest = list(self._rest())

    def _rest(self) -> Iterator[object]:
        for name, module in self.model.named_modules():
            yield name, type(module), module.training, module.forward.__func__
            yield sorted(module.__dict__), list(module._modules)
            yield len(module._forward_hooks), len(module._forward_pre_hooks), len(module._backward_hooks)
        for name, parameter in self.model.named_parameters():
            yield name, parameter.requires_grad, parameter.grad is None, id(parameter), parameter._version
        for name, buffer in self.model.named_buffers():
            yield name, id(buffer), buffer._version

    def check(self) -> None:
        assert list(self._rest()) == self.rest
        now = self.model.state_dict()
        assert list(now) == list(self.state)
        for name, tensor in now.items():
            assert torch.equal(tensor, self.state[name]), name
