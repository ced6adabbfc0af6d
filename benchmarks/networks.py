"""The networks whose steps are measured, with a batch for each, and the plain step that ours is compared with."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tent.models.resnet import r26
from tent.models.wide_resnet import wrn40_2

CIFAR, IMAGENET = (3, 32, 32), (3, 224, 224)


def timm(name: str) -> Callable[[], nn.Module]:
    """Return what makes a network of timm, untrained: only its shape matters here."""

    def make() -> nn.Module:
        import timm as library

        return library.create_model(name)  # type: ignore[no-any-return]

    return make


def segmentation() -> nn.Module:
    """Return torchvision's FCN on a ResNet-50, for 21 classes a pixel."""
    from torchvision.models.segmentation import fcn_resnet50

    return fcn_resnet50(weights=None, weights_backbone=None)  # type: ignore[no-any-return]


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "R-26, batch 128": (r26, (128, *CIFAR)),
    "R-26, batch 200": (r26, (200, *CIFAR)),
    "WRN-40-2, batch 128": (wrn40_2, (128, *CIFAR)),
    "ResNet-50, batch 16": (timm("resnet50"), (16, *IMAGENET)),
    "EfficientNet-B0, batch 16": (timm("efficientnet_b0"), (16, *IMAGENET)),
    "MobileNetV3-L, batch 16": (timm("mobilenetv3_large_100"), (16, *IMAGENET)),
    "ConvNeXt-T, batch 16": (timm("convnext_tiny"), (16, *IMAGENET)),
    "ViT-S/16, batch 16": (timm("vit_small_patch16_224"), (16, *IMAGENET)),
    "FCN-ResNet-50, batch 2": (segmentation, (2, 3, 256, 512)),
}


def build(name: str) -> tuple[nn.Module, Tensor]:
    """Return a network in eval mode and a batch for it, the same every time."""
    make, shape = NETWORKS[name]
    torch.manual_seed(0)
    return make().eval(), torch.randn(shape)


class Plain:
    """The published recipe, written out: contiguous, eager, an optimizer that moves one tensor after another."""

    def __init__(self, model: nn.Module) -> None:
        self.model = copy.deepcopy(model).train().requires_grad_(False)
        self.params: list[Tensor] = []
        for module in self.model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.track_running_stats = False
                module.running_mean = module.running_var = None
            if isinstance(module, nn.BatchNorm2d | nn.LayerNorm):
                self.params += [module.weight.requires_grad_(), module.bias.requires_grad_()]
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        self.optimizer = torch.optim.Adam(self.params, lr=1e-3, foreach=False)

    def __call__(self, x: Tensor) -> Tensor:
        output: Any = self.model(x)
        logits: Tensor = output["out"] if isinstance(output, dict) else output
        loss = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.optimizer.zero_grad()
        return logits.detach()
