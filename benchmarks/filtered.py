"""What leaving predictions out saves: steps of ETA and SAR against Tent's, by the share of the batch that is kept.

Processor seconds in one process, interleaved, as ratios of Tent's step; medians. The share is set by the entropy
margin, on noise and an untrained network, and the learning rate is 0, so that every round keeps the same samples.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from networks import CIFAR, IMAGENET, timm
from torch import Tensor, nn

import tent
from tent.models.resnet import group_norm, r26

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "R-26 (batch norm), batch 128": (r26, (128, *CIFAR)),
    "R-26 (group norm), batch 128": (partial(r26, norm=group_norm), (128, *CIFAR)),
    "ViT-Ti/16 (layer norm), batch 16": (timm("vit_tiny_patch16_224"), (16, *IMAGENET)),
}


def find_margin(model: nn.Module, x: Tensor, share: float) -> float:
    """Return the margin below which this share of a batch's entropies lies."""
    logits = tent.adapt(
        model, tent.BN() if any("running_mean" in name for name, _ in model.named_buffers()) else tent.Source()
    )(x)
    sorted_shares = (tent.losses.entropy(logits) / math.log(logits.shape[1])).sort().values.tolist()
    kept = round(share * len(x))
    return 1.1 if kept == len(x) else float(sorted_shares[kept])


def list_subjects(model: nn.Module, x: Tensor, shares: list[float]) -> dict[str, Callable[[Tensor], Any]]:
    """Return everything that is measured, by name."""
    subjects: dict[str, Callable[[Tensor], Any]] = {"Tent": tent.adapt(model, lr=0.0)}
    subjects["Source"] = tent.adapt(model, tent.Source())
    for share in shares:
        margin = find_margin(model, x, share)
        subjects[f"ETA {share:.0%}"] = tent.adapt(model, tent.ETA(margin=margin, redundancy=1.1), lr=0.0)
        subjects[f"SAR {share:.0%}"] = tent.adapt(
            model, tent.SAR(margin=margin, recovery=0.0, radius=0.0), lr=0.0, select=tent.select.norm_affine
        )
    return subjects


def measure(model: nn.Module, x: Tensor, shares: list[float], repeats: int) -> dict[str, float]:
    """Return the median processor seconds of each subject."""
    subjects = list_subjects(model, x, shares)
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for i in range(1 + repeats):
        for name, step in subjects.items():
            start = time.process_time()
            step(x)
            if i:  # the first round warms up
                times[name].append(time.process_time() - start)
    return {name: statistics.median(own) for name, own in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=[*NETWORKS], choices=[*NETWORKS])
    parser.add_argument("--shares", nargs="*", type=float, default=[*SHARES])
    options = parser.parse_args()
    print("| | | " + " | ".join(f"{share:.0%} kept" for share in options.shares) + " |")
    print("|---|---|" + "---|" * len(options.shares))
    for name in options.only:
        make, shape = NETWORKS[name]
        torch.manual_seed(0)
        seconds = measure(make().eval(), torch.randn(shape), options.shares, options.repeats)
        base = seconds["Tent"]
        print(f"| {name} | Source {seconds['Source'] / base:.2f}, Tent 1 ({base:.2f} s) |" + " |" * len(options.shares))
        for method in ("ETA", "SAR"):
            cells = (f"{seconds[f'{method} {share:.0%}'] / base:.2f}" for share in options.shares)
            print(f"| | {method} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
