"""What augmented views cost: one view against one pass of inference, and all views of a step as a share of the step."""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from networks import NETWORKS, build
from torch import Tensor

import tent
from tent.augment import augmix, random_view


def list_views() -> dict[str, Callable[[Tensor], Tensor]]:
    """Return every kind of view of images in [0, 1], by name."""
    random = torch.Generator().manual_seed(0)
    return {
        "view": lambda x: random_view(x, random),
        "view, drawn for each image": lambda x: random_view(x, random, each=True),
        "view without blur and noise": lambda x: random_view(x, random, plain=True, edges="reflection"),
        "AugMix": lambda x: augmix(x, random),
    }


def list_steps(model: torch.nn.Module) -> dict[str, tuple[Any, str, int]]:
    """Return adapted models by name, with the kind and number of the views of a batch in one step."""
    return {
        "Tent": (tent.adapt(model), "view", 0),
        "CoTTA, views": (tent.adapt(model, tent.CoTTA(threshold=1.1)), "view", 32),
        "CoTTA, sure": (tent.adapt(model, tent.CoTTA(threshold=0)), "view", 0),
        "ROID": (tent.adapt(model, tent.ROID()), "view without blur and noise", 1),
        "CMF": (tent.adapt(model, tent.CMF()), "view without blur and noise", 1),
        "RoTTA": (tent.adapt(model, tent.RoTTA()), "view", 1),
    }


def measure(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each call; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for i in range(repeats + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if i:  # the first round warms up
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", default="R-26, batch 128", choices=[*NETWORKS])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model, x = build(options.network)
    x = torch.rand(x.shape)
    source, views, steps = tent.adapt(model, tent.Source()), list_views(), list_steps(model)
    calls: dict[str, Callable[[], Any]] = {"inference": partial(source, x)}
    calls |= {name: partial(view, x) for name, view in views.items()}
    calls |= {name: partial(step, x) for name, (step, _, _) in steps.items()}
    seconds = measure(calls, options.repeats)
    print(f"{options.network}; medians of {options.repeats}\n")
    print("| one view of the batch | images a second | of a pass of inference |\n|---|---|---|")
    for name in views:
        print(f"| {name} | {len(x) / seconds[name]:,.0f} | {seconds[name] / seconds['inference']:.3f} |")
    print("\n| one step | times Tent's | share of it that makes views |\n|---|---|---|")
    for name, (_, view, number) in steps.items():
        share = number * seconds[view] / seconds[name]
        print(f"| {name} | {seconds[name] / seconds['Tent']:.2f} | {share:.1%} |")


if __name__ == "__main__":
    main()
