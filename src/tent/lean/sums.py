"""Sums over a batch, a value a channel, by torch's own kernels and as exact with channels last as without.

With channels last those kernels add up a channel's values one after another in float32, and lose digits over a
hundred thousand of them. Here neighbouring pixels count as channels of their own, so that each sum is short, and the
sums of one channel are added up in float64.
"""

import torch
from torch import Tensor

native_batch_norm_backward = torch.ops.aten.native_batch_norm_backward
SHORT = 256  # values in one sum, at least
WIDE = 1 << 12  # channels to keep sums of, at most: they stay in the innermost cache


def moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean and the variance of each channel, over all else."""
    parts, channels = _parts(x), x.shape[1]
    mean, var = torch.batch_norm_update_stats(_split(x, parts), None, None, 0.0)
    if parts == 1:
        return mean, var
    between, whole = torch.var_mean(mean.view(parts, channels).double(), 0, correction=0)
    spread = between + var.view(parts, channels).mean(0, dtype=torch.float64)
    return whole.to(mean.dtype), spread.to(var.dtype)


def gradient_sums(grad: Tensor, x: Tensor, mean: Tensor, inverse: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of grad times the normalised x, and the sum of grad, of each channel."""
    parts, channels = _parts(x), x.shape[1]
    _, first, second = native_batch_norm_backward(
        _split(grad, parts),
        _split(x, parts),
        None,
        None,
        None,
        *(values.expand(parts, channels).reshape(-1) for values in (mean, inverse)),  # in half the time of `repeat`
        True,
        0.0,
        [False, True, True],
    )
    if parts == 1:
        return first, second
    whole = torch.stack((first, second)).view(2, parts, channels).sum(1, dtype=torch.float64)
    return whole.to(first.dtype).unbind()  # type: ignore[return-value]


def _parts(x: Tensor) -> int:
    if x.is_contiguous() or x.dim() != 4:
        return 1
    rows = x.numel() // x.shape[1]
    parts = rows & -rows  # the largest power of two in it
    while parts > 1 and (rows // parts < SHORT or parts * x.shape[1] > WIDE):
        parts //= 2
    return parts


def _split(x: Tensor, parts: int) -> Tensor:
    if parts == 1:
        return x
    channels = x.shape[1] * parts
    rows = x.numel() // channels
    return x.as_strided((1, channels, rows, 1), (x.numel(), 1, channels, channels))
