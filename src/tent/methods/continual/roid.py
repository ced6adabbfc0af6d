"""ROID: universal test-time adaptation by weight ensembling, diversity weighting and prior correction.

Marsden, Döbler and Yang, WACV 2024.
"""

import math
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tent import norm
from tent.augment import Pixels, change_images, find_images, random_view, require_one_prediction
from tent.engine.mode import SingleValueError
from tent.engine.structures import Inputs, map_tensors
from tent.losses import entropy, soft_likelihood_ratio, symmetric_cross_entropy
from tent.method import ForwardPass, Method, OptimizerFactory, State, require_within
from tent.select import norm_affine

if TYPE_CHECKING:
    from typing_extensions import Self

ALIKE = 1e-6  # values that differ by less do so by rounding alone
VIEW: dict[str, Any] = {"plain": True, "edges": "reflection"}  # without blur and noise


@dataclass(frozen=True, repr=False)
class ROID(Method):
    """Raise the odds of certain and diverse predictions, agree with an augmented view, and stay near the source.

    Predictions that are all alike, such as the one of a single image, weigh 1, where the paper's code divides 0 by 0.
    Where one image alone is kept and a batch norm sees one value a channel of it, there is no view to agree with.
    """

    momentum: float = 0.99  # of the parameters in every step; the rest is the source's
    memory: float = 0.9  # of the mean prediction, which diversity is measured from
    temperature: float = 1 / 3  # of the weights
    correct_prior: bool = True  # multiply the answer's logits by the smoothed mean prediction
    pixels: Pixels | None = None  # how inputs were normalised; None: they are in [0, 1]
    seed: int = 0
    optimizer: OptimizerFactory = field(default=Method.optimizer, repr=False)

    select = staticmethod(norm_affine)
    stats = norm.Batch()
    needs = frozenset({"augmented views"})

    def __post_init__(self) -> None:
        require_within(self, 0, 1, "momentum", "memory")
        require_within(self, 0.01, math.inf, "temperature")

    @classmethod
    def for_imagenet(cls, **options: Any) -> "Self":
        """Return the paper's choices for ImageNet-C."""
        return cls(**{"optimizer": partial(torch.optim.SGD, lr=2.5e-4, momentum=0.9, nesterov=True), **options})

    def loss(self, seen: ForwardPass, state: State) -> Tensor | None:
        """Return the weighted sum of both losses over the diverse predictions, by the size of the batch."""
        who, logits = type(self).__name__, seen.logits
        find_images(seen.inputs, who)
        require_one_prediction(logits, who)
        weights = self._weigh(logits.detach(), state)
        kept = weights != 0
        random = state.generator(f"views {self.seed}")
        inputs: Inputs = map_tensors(seen.inputs, lambda x: x[kept])
        args, kwargs = change_images(inputs, partial(random_view, random=random, **VIEW), self.pixels, who)
        losses = soft_likelihood_ratio(logits[kept])
        with suppress(SingleValueError):
            losses = losses + symmetric_cross_entropy(state.forward(*args, **kwargs).logits, logits[kept])
        return (losses * weights[kept]).sum() / len(logits)

    def step(self, seen: ForwardPass, state: State) -> None:
        """Take one step down the loss, then part of the way back."""
        super().step(seen, state)
        with torch.no_grad():
            self.ensemble(state)

    def ensemble(self, state: State) -> None:
        """Move every parameter a little toward the source's."""
        for name, param in state.params.items():
            param.lerp_(state.source[name].to(param.dtype), 1 - self.momentum)

    def answer(self, seen: ForwardPass, state: State) -> Any:
        """Return the logits, times how likely the batch is to hold each class: for correlated labels."""
        require_one_prediction(seen.logits, type(self).__name__)
        if not self.correct_prior:
            return seen.output
        count, classes = seen.logits.shape
        prior = seen.logits.softmax(1).mean(0)
        smooth = max(1 / max(count, 1), 1 / classes) / prior.amax()
        return seen.with_logits(seen.logits * (prior + smooth) / (1 + smooth * classes))

    def _weigh(self, logits: Tensor, state: State) -> Tensor:
        p = logits.to(torch.promote_types(logits.dtype, torch.float32)).softmax(1)
        mean = state.tensors.get("mean prediction", torch.full_like(p[0], 1 / p.shape[1]))
        diversity = _stretch(1 - F.cosine_similarity(mean[None], p))
        weights = (diversity * _stretch(-entropy(logits)) / self.temperature).exp()
        state.tensors["mean prediction"] = torch.lerp(p.mean(0), mean, self.memory)
        return weights.masked_fill(diversity < diversity.mean(), 0)


def _stretch(values: Tensor) -> Tensor:
    low, high = values.aminmax()
    return (values - low) / (high - low).clamp_min(ALIKE)
