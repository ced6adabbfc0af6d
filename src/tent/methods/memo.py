"""MEMO: marginal entropy minimisation with one test point (Zhang, Levine and Finn, NeurIPS 2022)."""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tent import norm
from tent.augment import Pixels, augmix, change_images, require_one_prediction
from tent.method import ForwardPass, Method, OptimizerFactory, State, require_whole
from tent.select import everything

if TYPE_CHECKING:
    from typing_extensions import Self

DESCENT = partial(torch.optim.SGD, lr=0.005)  # the paper's for CIFAR


@dataclass(frozen=True, repr=False)
class MEMO(Method):
    """Lower the entropy of the mean prediction over augmented views of an image, then answer.

    It is for one image at a time, each from the source: `tent.adapt(model, tent.MEMO(), episodic=True)`. The images of
    a larger batch share one update, down the mean of their entropies. All images get the same draws of views, so that
    an answer does not depend on what came before.
    """

    views: int = 32
    resize: bool = False  # views are resized crops, as for ImageNet; else they are shifted by up to an eighth
    pixels: Pixels | None = None  # how inputs were normalised; None: they are in [0, 1]
    seed: int = 0
    optimizer: OptimizerFactory = field(default=DESCENT, repr=False)

    select = staticmethod(everything)
    stats = norm.Blend(1 / 17)  # the source's count as 16 samples and the batch as one, however many views are in it
    needs = frozenset({"augmented views"})
    answers = "after"
    uses_pass = False  # it learns from views alone

    def __post_init__(self) -> None:
        require_whole(self, "views")

    @classmethod
    def for_imagenet(cls, **options: Any) -> "Self":
        """Return the paper's choices for ImageNet and a ResNet-50."""
        return cls(**{"views": 64, "resize": True, "optimizer": partial(torch.optim.SGD, lr=2.5e-4), **options})

    def loss(self, seen: ForwardPass, state: State) -> Tensor | None:
        """Return the entropy of the mean prediction over the views of each image, averaged over the images."""
        random = state.generator(f"views {self.seed}")
        args, kwargs = change_images(
            seen.inputs,
            lambda images: augmix(images.repeat_interleave(self.views, 0), random, self.resize),
            self.pixels,
            "MEMO",
        )
        logits = state.forward(*args, **kwargs).logits  # (images x views, classes)
        require_one_prediction(logits, "MEMO")
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        log_p = logits.log_softmax(1).view(-1, self.views, logits.shape[1])
        log_mean = (log_p.logsumexp(1) - math.log(self.views)).clamp_min(torch.finfo(log_p.dtype).min)
        return -(log_mean.exp() * log_mean).sum(1).mean()
