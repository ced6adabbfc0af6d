"""Where a Tent step's time goes, ours beside the published recipe's: the profiler's own times, by kind of work."""

import argparse
from collections.abc import Callable
from typing import Any

from networks import NETWORKS, Plain, build
from torch.profiler import ProfilerActivity, profile

import tent

STEPS = 5
KINDS = {  # a part of an operation's name -> the kind of work that it is; the first that fits
    "convolution_backward": "convolutions, backward",
    "convolution": "convolutions, forward",
    "LinearBackward": "calls from Python",
    "linear_pointwise": "matrix products",
    "mm": "matrix products",
    "scaled_dot_product": "attention",
    "Backward": "calls from Python",
    "native_batch_norm": "norms, activations and sums",
    "": "norms, activations and sums",
}
# marks of calls, no work
OURS = (
    "BatchNorm",
    "Convolution",
    "Linear",
    "LayerNorm",
    "RecomputedActivation",
    "ReLU",
    "Optimizer",
)  # marks of calls, no work


def seconds(step: Callable[[Any], Any], x: Any) -> dict[str, float]:
    """Return the seconds of one step by kind of work."""
    for _ in range(2):
        step(x)
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in range(STEPS):
            step(x)
    spent: dict[str, float] = {}
    for event in profiled.key_averages():
        name = event.key
        kind = "calls from Python" if name.startswith(OURS) else next(KINDS[part] for part in KINDS if part in name)
        spent[kind] = spent.get(kind, 0.0) + event.self_cpu_time_total / 1e6 / STEPS
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=["R-26, batch 128", "ViT-S/16, batch 16"], choices=[*NETWORKS])
    for name in parser.parse_args().only:
        model, x = build(name)
        plain, ours = seconds(Plain(model), x), seconds(tent.adapt(model), x)
        print(f"\n| {name} | published | ours |\n|---|---|---|")
        for kind in dict.fromkeys(KINDS.values()):
            if kind in plain or kind in ours:
                print(f"| {kind} | {1e3 * plain.get(kind, 0):.0f} ms | {1e3 * ours.get(kind, 0):.0f} ms |")
        print(f"| all | {1e3 * sum(plain.values()):.0f} ms | {1e3 * sum(ours.values()):.0f} ms |", flush=True)


if __name__ == "__main__":
    main()
