"""What is minimised: pure functions of logits, one value a prediction, classes on axis 1."""

from collections.abc import Callable
from typing import TypeAlias

from torch import Tensor

Loss: TypeAlias = Callable[[Tensor], Tensor]


def log_probabilities(logits: Tensor) -> Tensor:
    """Return the log-softmax over the classes, in float32 or better."""
    return logits.float().log_softmax(1) if logits.itemsize < 4 else logits.log_softmax(1)


def entropy(logits: Tensor) -> Tensor:
    """Return the Shannon entropy of each prediction, in nats (Tent, eq. 1)."""
    log_p = log_probabilities(logits)
    # a class at probability 0 has log 0 = -inf; by continuity it adds nothing
    return -(log_p.exp() * log_p.clamp_min(_LEAST[log_p.itemsize])).sum(1)


def pseudo_label(logits: Tensor) -> Tensor:
    """Return the cross-entropy of each prediction to its own most likely class (Lee 2013)."""
    return -log_probabilities(logits).amax(1)


def information_maximisation(logits: Tensor) -> Tensor:
    """Return each prediction's entropy less its share of the entropy of the mean prediction.

    The mean over the predictions is E[H(p)] - H(E[p]): certain one by one, diverse together (Krause et al. 2010; SHOT).
    """
    log_p = log_probabilities(logits)
    p = log_p.exp()
    others = [axis for axis in range(logits.dim()) if axis != 1]
    log_mean = p.mean(others, keepdim=True).clamp_min(1e-30).log()
    return (p * (log_mean - log_p.clamp_min(_LEAST[log_p.itemsize]))).sum(1)


def confidence(logits: Tensor) -> Tensor:
    """Return the probability of each prediction's most likely class; no gradient is meant to pass here."""
    return log_probabilities(logits.detach()).amax(1).exp()


_LEAST = {4: -1e30, 8: -1e300}  # finite stand-ins for log 0, so that 0 x log 0 is 0, by the bytes of a number
