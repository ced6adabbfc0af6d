"""Your own method: a loss of a few lines; it also runs as `tent adapt ... --method own_method.py:Margin`."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

import tent


@dataclass(frozen=True, repr=False)
class Margin(tent.Method):
    """Widen the gap between the two most likely classes of each prediction."""

    most: float = 0.9  # predictions with a wider gap are left out

    select = staticmethod(tent.select.norm_affine)
    stats = tent.norm.Batch()

    def loss(self, seen: tent.ForwardPass, state: tent.State) -> Tensor | None:
        first, second = seen.logits.softmax(1).topk(2, 1).values.unbind(1)
        gap = (first - second)[first - second < self.most]
        return -gap.mean() if len(gap) else None


if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 5)).eval()
    adapted = tent.adapt(model, Margin(most=0.8), lr=0.01)
    adapted.on_update(lambda update: print(f"batch {update.index}: loss {update.loss:.4f}, drift {update.drift:.4f}"))
    for _ in range(5):
        adapted(torch.randn(64, 20) * 2 + 1)  # stands for your shifted data
