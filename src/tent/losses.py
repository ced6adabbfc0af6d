"""What is minimised: pure functions of logits, one value a prediction, classes on axis 1."""

import math
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

Loss: TypeAlias = Callable[[Tensor], Tensor]


def entropy(logits: Tensor) -> Tensor:
    """Return the Shannon entropy of each prediction, in nats (Tent, eq. 1)."""
    logits = wide(logits)
    return -(logits.softmax(1) * _log_probabilities(logits)).sum(1)


def pseudo_label(logits: Tensor) -> Tensor:
    """Return the cross-entropy of each prediction to its own most likely class (Lee 2013)."""
    return -wide(logits).log_softmax(1).amax(1)


def information_maximisation(logits: Tensor) -> Tensor:
    """Return each prediction's entropy less its share of the entropy of the mean prediction.

    The mean over the predictions is E[H(p)] - H(E[p]): certain one by one, diverse together (Krause et al. 2010; SHOT).
    """
    logits = wide(logits)
    p = logits.softmax(1)
    others = [axis for axis in range(logits.dim()) if axis != 1]
    log_mean = p.mean(others, keepdim=True).clamp_min(torch.finfo(p.dtype).tiny).log()
    return (p * (log_mean - _log_probabilities(logits))).sum(1)


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return the cross-entropy of each prediction to that of the target's logits; gradients reach both."""
    return -(wide(target).softmax(1) * _log_probabilities(wide(logits))).sum(1)


def symmetric_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return the mean of the cross-entropies in both directions (Wang et al., ICCV 2019)."""
    return (cross_entropy(logits, target) + cross_entropy(target, logits)) / 2


def soft_likelihood_ratio(logits: Tensor) -> Tensor:
    """Return the negative expected log-odds of each prediction's classes, held below 0.99 (ROID, eq. 2)."""
    p = wide(logits).softmax(1).clamp_max(0.99)
    return -(p * (p / (1 - p) + 1e-5).log()).sum(1)


def confidence(logits: Tensor) -> Tensor:
    """Return the probability of each prediction's most likely class, without a gradient."""
    return wide(logits.detach()).softmax(1).amax(1)


def entropy_margin(logits: Tensor, share: float) -> float:
    """Return a share of the greatest entropy that a prediction can have, ln of the number of classes."""
    return share * math.log(logits.shape[1])


def certainty_weight(entropies: Tensor, margin: float) -> Tensor:
    """Return exp(margin - H) of each entropy H, without a gradient: the more certain, the heavier (EATA, eq. 3)."""
    return (margin - entropies.detach()).exp()


def similarity(logits: Tensor, mean: Tensor) -> Tensor:
    """Return the cosine of each prediction to a mean prediction (classes,), without a gradient (EATA, eq. 5)."""
    p = wide(logits.detach()).softmax(1)
    return torch.cosine_similarity(p, mean.view(-1, *[1] * (p.dim() - 2)), dim=1)


def wide(logits: Tensor) -> Tensor:
    """Return logits or features in float32 at least."""
    return logits.float() if logits.itemsize < 4 else logits  # half precision is too coarse for a logarithm


def _log_probabilities(logits: Tensor) -> Tensor:
    # a class at probability 0 has log 0 = -inf, and adds nothing: by continuity 0 x log 0 = 0
    return logits.log_softmax(1).clamp_min(torch.finfo(logits.dtype).min)
