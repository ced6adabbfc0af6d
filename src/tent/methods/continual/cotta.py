"""CoTTA: continual test-time adaptation (Wang et al., CVPR 2022)."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tent import norm
from tent.augment import Pixels, change_images, check_images, random_view, require_one_prediction
from tent.engine import distributed
from tent.losses import confidence, cross_entropy, symmetric_cross_entropy
from tent.method import ForwardPass, Method, OptimizerFactory, State, require_whole, require_within
from tent.methods.continual.teacher import follow, start_teacher, teacher
from tent.select import everything

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, repr=False)
class CoTTA(Method):
    """Learn from a slow average of oneself, which answers, and give a few weights back to the source in every step.

    Where the source is unsure of a batch, the teacher averages its logits over augmented views.
    """

    views: int = 32
    threshold: float = 0.92  # views are averaged where the source's mean confidence is below
    momentum: float = 0.999  # of the teacher
    restore: float = 0.01  # the probability of each weight to go back
    symmetric: bool = False  # the loss in both directions, as the paper's code has it for ImageNet
    pixels: Pixels | None = None  # how inputs were normalised; None: they are in [0, 1]
    seed: int = 0
    optimizer: OptimizerFactory = field(default=Method.optimizer, repr=False)

    select = staticmethod(everything)
    stats = norm.Batch()
    needs = frozenset({"augmented views"})

    def __post_init__(self) -> None:
        require_whole(self, "views")
        require_within(self, 0, 1, "momentum", "restore")

    @classmethod
    def for_cifar100(cls, **options: Any) -> "Self":
        """Return the paper's choices for CIFAR-100-C."""
        return cls(**{"threshold": 0.72, **options})

    @classmethod
    def for_imagenet(cls, **options: Any) -> "Self":
        """Return the paper's choices for ImageNet-C."""
        descent = partial(torch.optim.SGD, lr=0.01, momentum=0.9, nesterov=True)
        return cls(**{"threshold": 0.1, "restore": 0.001, "symmetric": True, "optimizer": descent, **options})

    def start(self, state: State) -> None:
        """Begin the teacher at the source."""
        start_teacher(state)

    def step(self, seen: ForwardPass, state: State) -> None:
        """Learn from the teacher, let it follow, then restore."""
        loss = symmetric_cross_entropy if self.symmetric else cross_entropy
        state.update(loss(seen.logits, self._teach(seen, state)[1]).mean())
        follow(state, 1 - self.momentum)
        random = state.generator(f"restore {self.seed}", shared=True)
        with torch.no_grad():
            for name, param in state.params.items():
                chosen = (torch.rand(param.shape, generator=random) < self.restore).to(param.device)
                param.copy_(torch.where(chosen, state.source[name].to(param.dtype), param))

    def answer(self, seen: ForwardPass, state: State) -> Any:
        """Return the teacher's answer, of before its update."""
        taught, logits = self._teach(seen, state)
        return taught.output if logits is taught.logits else taught.with_logits(logits)

    def _teach(self, seen: ForwardPass, state: State) -> tuple[ForwardPass, Tensor]:
        if "teacher" not in seen.notes:
            args, kwargs = seen.inputs
            taught = state.forward(*args, **kwargs, params=teacher(state), grad=False)
            logits = taught.logits
            if self.threshold > 0:  # also where the source is sure: it may not stay so
                check_images(seen.inputs, self.pixels, "CoTTA")
                require_one_prediction(logits, "CoTTA")
            if self._is_unsure(seen, state):
                logits = torch.stack(self._view(seen, state)).mean(0)
            seen.notes["teacher"] = taught, logits
        return seen.notes["teacher"]  # type: ignore[no-any-return]

    def _view(self, seen: ForwardPass, state: State) -> list[Tensor]:
        random, logits = state.generator(f"views {self.seed}"), []
        for _ in range(self.views):
            args, kwargs = change_images(seen.inputs, lambda x: random_view(x, random), self.pixels, "CoTTA")
            logits.append(state.forward(*args, **kwargs, params=teacher(state), grad=False).logits)
        return logits

    def _is_unsure(self, seen: ForwardPass, state: State) -> bool:
        args, kwargs = seen.inputs
        mean = confidence(state.forward(*args, **kwargs, params=state.source, grad=False).logits).mean()
        if state.group is not None:
            distributed.average([mean], state.group)  # ranks pass their views through the model together
        return bool(mean < self.threshold)
