"""A Tent step of the engine, by torch's own functions, against a hand-written loop, interleaved, as ratios.

With --self-check: what the lean path's check of a first batch adds to a stream of 100 batches.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import timm
import torch
from networks import Plain
from torch import Tensor, nn

import tent
from tent.models.resnet import r26


def seconds(model: nn.Module, x: Tensor, repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each step of the loop, of the engine, and of the loop once more: what noise alone does."""
    steps: dict[str, Callable[[Tensor], Tensor]] = {
        "by hand": Plain(model),
        "tent": tent.adapt(model, lean=False),
        "by hand again": Plain(model),
    }
    times: dict[str, list[float]] = {name: [] for name in steps}
    for i in range(repeats + 3):
        names = [*steps][i % 3 :] + [*steps][: i % 3]  # each comes first in its turn
        for name in names:
            start = time.perf_counter()
            steps[name](x)
            if i >= 3:  # the first are warm-up
                times[name].append(time.perf_counter() - start)
    return times


def self_check_share(model: nn.Module, x: Tensor, method: tent.Method, repeats: int, batches: int = 100) -> float:
    """Return the time that the check adds, as a share of a stream's: first batches with and without it, interleaved."""
    kinds = tent.adapt(model, method)
    kinds(x)
    checked: list[float] = []
    unchecked: list[float] = []
    later: list[float] = []
    for i in range(2 * repeats):
        adapted = tent.adapt(model, method)
        if i % 2:
            adapted.state.setup.execution.checked |= kinds.state.setup.execution.checked
        start = time.perf_counter()
        adapted(x)
        (unchecked if i % 2 else checked).append(time.perf_counter() - start)
        start = time.perf_counter()
        adapted(x)
        later.append(time.perf_counter() - start)
    first = statistics.median(unchecked)
    return (statistics.median(checked) - first) / (first + (batches - 1) * statistics.median(later))


def print_self_check(repeats: int) -> None:
    """Print that share on the R-26, whatever the method costs."""
    model, x = r26(classes=10).eval(), torch.randn(128, 3, 32, 32)
    for method in (tent.Tent(), tent.BN(), tent.Source()):
        share = self_check_share(model, x, method, repeats)
        print(f"{type(method).__name__:8} the self-check is {share:.2%} of a stream of 100 batches of 128", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--self-check", action="store_true", help="what the check of a first batch adds to a stream")
    options = parser.parse_args()
    repeats = options.repeats
    if options.self_check:
        return print_self_check(repeats)
    cases = {
        "CIFAR ResNet-26, batch 128": (r26(classes=10), torch.randn(128, 3, 32, 32)),
        "ResNet-50 at 224, batch 8": (timm.create_model("resnet50"), torch.randn(8, 3, 224, 224)),
    }
    print(f"{repeats} repeats, {torch.get_num_threads()} threads; medians; ratio to both loops; noise between them")
    print(f"{'':28}{'by hand':>10}{'tent':>10}{'again':>10}{'ratio':>8}{'noise':>8}")
    for name, (model, x) in cases.items():
        first, ours, second = (statistics.median(part) for part in seconds(model.eval(), x, repeats).values())
        quotient = ours / ((first + second) / 2)
        print(f"{name:28}{first:9.3f}s{ours:9.3f}s{second:9.3f}s{quotient:8.3f}{second / first:8.3f}")


if __name__ == "__main__":
    main()
