"""What is minimised: pure functions of logits, one value a prediction, classes on axis 1."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

Loss: TypeAlias = Callable[[Tensor], Tensor]


def entropy(logits: Tensor) -> Tensor:
    """Return the Shannon entropy of each prediction, in nats (Tent, eq. 1)."""
    logits = _wide(logits)
    return -(logits.softmax(1) * _log_probabilities(logits)).sum(1)


def pseudo_label(logits: Tensor) -> Tensor:
    """Return the cross-entropy of each prediction to its own most likely class (Lee 2013)."""
    return -_wide(logits).log_softmax(1).amax(1)


def information_maximisation(logits: Tensor) -> Tensor:
    """Return each prediction's entropy less its share of the entropy of the mean prediction.

    The mean over the predictions is E[H(p)] - H(E[p]): certain one by one, diverse together (Krause et al. 2010; SHOT).
    """
    logits = _wide(logits)
    p = logits.softmax(1)
    others = [axis for axis in range(logits.dim()) if axis != 1]
    log_mean = p.mean(others, keepdim=True).clamp_min(torch.finfo(p.dtype).tiny).log()
    return (p * (log_mean - _log_probabilities(logits))).sum(1)


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return the cross-entropy of each prediction to that of the target's logits; gradients reach both."""
    return -(_wide(target).softmax(1) * _log_probabilities(_wide(logits))).sum(1)


def symmetric_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return the mean of the cross-entropies in both directions (Wang et al., ICCV 2019)."""
    return (cross_entropy(logits, target) + cross_entropy(target, logits)) / 2


def soft_likelihood_ratio(logits: Tensor) -> Tensor:
    """Return the negative expected log-odds of each prediction's classes, held below 0.99 (ROID, eq. 2)."""
    p = _wide(logits).softmax(1).clamp_max(0.99)
    return -(p * (p / (1 - p) + 1e-5).log()).sum(1)


def confidence(logits: Tensor) -> Tensor:
    """Return the probability of each prediction's most likely class, without a gradient."""
    return _wide(logits.detach()).softmax(1).amax(1)


def _wide(logits: Tensor) -> Tensor:
    return logits.float() if logits.itemsize < 4 else logits  # half precision is too coarse for a logarithm


def _log_probabilities(logits: Tensor) -> Tensor:
    # a class at probability 0 has log 0 = -inf, and adds nothing: by continuity 0 x log 0 = 0
    return logits.log_softmax(1).clamp_min(torch.finfo(logits.dtype).min)
