"""Networks with a second answer: by how many quarter turns an image is rotated, from a branch beside the classifier."""

import copy

import torch.nn.functional as F
from torch import Tensor, nn

from tent.augment import TURNS
from tent.models.resnet import Norm, ResNet

STAGES = ("stage1", "stage2", "stage3")


class Branch(nn.Module):
    """A network's stages behind the shared part once more, with weights of their own, and a head for rotations."""

    def __init__(self, network: ResNet, stages: tuple[str, ...]) -> None:
        super().__init__()
        self.stages = nn.Sequential(*(copy.deepcopy(getattr(network, name)) for name in stages))
        self.norm = copy.deepcopy(network.norm)
        self.fc = nn.Linear(network.fc.in_features, TURNS)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the four rotations."""  # (n, 4)
        return self.fc(F.relu(self.norm(self.stages(x))).mean((2, 3)))  # type: ignore[no-any-return]


class RotationResNet(ResNet):
    """R-26 with a rotation branch that leaves it after the stage `last_shared` (Sun et al., ICML 2020).

    `model(x)` classifies, `model(x, head="rotation")` tells rotations apart. `shared` names the modules that both
    answers go through. The classifier's weights have the names that they have in R-26.
    """

    def __init__(
        self, classes: int = 10, channels: int = 3, norm: Norm = nn.BatchNorm2d, *, last_shared: str = "stage2"
    ) -> None:
        super().__init__(4, classes, channels, norm)
        if last_shared not in STAGES:
            raise ValueError(f"last_shared {last_shared!r}: choose from {', '.join(STAGES)}")
        after = STAGES.index(last_shared) + 1
        self.shared = ("conv", *STAGES[:after])
        self.rotation = Branch(self, STAGES[after:])

    def forward(self, x: Tensor, head: str = "classes") -> Tensor:
        """Logits of the classes, or of the rotations."""  # (n, classes) or (n, 4)
        if head == "classes":
            return super().forward(x)
        if head != "rotation":
            raise ValueError(f"head {head!r}: choose classes or rotation")
        for name in self.shared:
            x = getattr(self, name)(x)
        return self.rotation(x)  # type: ignore[no-any-return]

    def start_branch(self) -> None:
        """Begin the branch at the classifier's own weights, for a network whose classifier is trained already."""
        for ours, own in zip(self.rotation.stages, STAGES[len(self.shared) - 1 :], strict=True):
            ours.load_state_dict(getattr(self, own).state_dict())
        self.rotation.norm.load_state_dict(self.norm.state_dict())


def r26_rotation(classes: int = 10, channels: int = 3, norm: Norm = nn.BatchNorm2d) -> RotationResNet:
    """R-26 with a rotation branch."""
    return RotationResNet(classes, channels, norm)
