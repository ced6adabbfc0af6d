"""Many processes as one batch: what the ranks behind a SyncBatchNorm agree on."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


def find_groups(model: nn.Module) -> dict[str, Any]:
    """Return the process group of each SyncBatchNorm by name; none where there is one process."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return {}
    return {
        name: layer.process_group or dist.group.WORLD
        for name, layer in model.named_modules()
        if isinstance(layer, nn.SyncBatchNorm)
    }


def pool_moments(mean: Tensor, var: Tensor, count: int, group: Any) -> tuple[Tensor, Tensor, int]:
    """Return the moments over the batches of all ranks, with gradients through every rank's share."""
    from torch.distributed.nn.functional import all_reduce  # heavy to import, and rarely needed

    sums = torch.cat([mean * count, (var + mean * mean) * count, mean.new_tensor([float(count)])])
    sums = all_reduce(sums, group=group)  # type: ignore[no-untyped-call]
    channels, total = len(mean), sums[-1].detach().clamp_min(1)  # all of them may be empty
    mean, square = sums[:channels] / total, sums[channels:-1] / total
    return mean, (square - mean * mean).clamp_min(0), int(sums[-1].item())


def rank(group: Any) -> int:
    """Return this process's number among the ranks; 0 where there is no group of them."""
    return 0 if group is None else dist.get_rank(group)


def average(gradients: Sequence[Tensor], group: Any) -> None:
    """Average the gradients over the ranks, in place."""
    for gradient in gradients:
        dist.all_reduce(gradient, group=group)
        gradient /= dist.get_world_size(group)


def agree(fine: bool, group: Any) -> bool:
    """Tell whether every rank is fine: an update is made by all or by none."""
    flag = torch.tensor([float(fine)])
    if dist.get_backend(group) == "nccl":
        flag = flag.cuda()
    dist.all_reduce(flag, op=dist.ReduceOp.MIN, group=group)
    return bool(flag.item())
