"""A Tent step against inference on the shipped networks of Table 4: seconds and peak memory, interleaved, as ratios.

They are given photographs, since how long a search for an equilibrium takes depends on weights and images.
And the peak memory of SAN's sums over footprints against that of copying the features for every place of one.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

import tent
from tent.bench.execute.peak_memory import measure_peak_memory, peak_bytes
from tent.bench.suites.other_networks import NETWORKS
from tent.data.sample import sample
from tent.doctor.memory import readable
from tent.models import zoo
from tent.models.architectures.footprints import aggregate
from tent.train.domains import read_pixels

WARM_UP = 1
MODELS = [f"{network}-cifar100" for network in NETWORKS.values()]
TITLES = ("parameters", "inference", "step / inference", "inference's peak", "step's / inference's")
HEAD = f"| | {' | '.join(TITLES)} |\n|{'---|' * (len(TITLES) + 1)}"
FEATURES, FOOTPRINT, SHARED = (32, 64, 16, 16), 7, 8  # of SAN's second stage, batch first


def measure_step(name: str, batch: int, repeats: int) -> str:
    """Return a network's line of the table."""
    entry = zoo.load(name)
    model, x = entry.model.eval(), entry.preprocess(read_pixels(sample(), np.arange(batch)))
    subjects = {"inference": tent.adapt(model, tent.Source()), "step": tent.adapt(model)}
    seconds: dict[str, list[float]] = {subject: [] for subject in subjects}
    for i in range(WARM_UP + repeats):
        for subject, run in subjects.items():
            start = time.perf_counter()
            run(x)
            if i >= WARM_UP:
                seconds[subject].append(time.perf_counter() - start)
    times = {subject: statistics.median(own) for subject, own in seconds.items()}
    peaks = {subject: measure_peak_memory(run, ((x,), {})) for subject, run in subjects.items()}
    size = sum(p.numel() for p in model.parameters()) / 1e6
    cells = [f"{size:.2f} M", f"{times['inference']:.3f} s", f"{times['step'] / times['inference']:.2f}"]
    cells += [readable(peaks["inference"]), f"{peaks['step'] / peaks['inference']:.2f}"]
    return f"| {name} | {' | '.join(cells)} |"


def copy_footprints(padded: Tensor, weight: Tensor) -> Tensor:
    """Sum over footprints that are copied out first."""
    n, channels, places = len(padded), padded.shape[1], weight.shape[2]
    copies = F.unfold(padded, FOOTPRINT).view(n, -1, weight.shape[1], places, *weight.shape[3:])
    return (copies * weight[:, None]).sum(3).view(n, channels, *weight.shape[3:])


def sum_memory(add_up: Callable[[Tensor, Tensor], Tensor]) -> int:
    """Return the peak of the bytes that sums over footprints and their gradients take, beside what they are given."""
    n, channels, height, width = FEATURES
    reach = FOOTPRINT - 1
    padded = torch.randn(n, channels, height + reach, width + reach, requires_grad=True)
    weight = torch.randn(n, channels // SHARED, FOOTPRINT**2, height, width, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        add_up(padded, weight).sum().backward()  # type: ignore[no-untyped-call]
    return peak_bytes(seen)


def main() -> None:
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler remarks on the want of a GPU
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=MODELS, choices=MODELS)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"batches of {options.batch}, {torch.get_num_threads()} threads; medians of {options.repeats}\n")
    print(HEAD)
    for name in options.only:
        print(measure_step(name, options.batch, options.repeats), flush=True)
    ours, copies = sum_memory(aggregate), sum_memory(copy_footprints)
    print(f"\nsums over footprints of {FOOTPRINT}x{FOOTPRINT} with their gradients: peak {readable(ours)}, ", end="")
    print(f"{readable(copies)} with copies ({copies / ours:.1f} times as much)")


if __name__ == "__main__":
    main()
