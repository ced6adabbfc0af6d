"""What an episode on one image costs: ten steps as a multiple of inference, and the peak memory of a process.

Every setting runs in a process of its own, so that its peak resident memory is its own; torch's and Python's is in it.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

import tent
from tent.models import SEGMENTERS

SETTINGS = {  # height, width, steps, lean
    "1024x512, inference": (512, 1024, 0, True),
    "1024x512, 10 steps": (512, 1024, 10, True),
    "1024x512, 10 steps, lean=False": (512, 1024, 10, False),
    "2048x1024, inference": (1024, 2048, 0, True),
    "2048x1024, 1 step": (1024, 2048, 1, True),
}


def measure(network: str, height: int, width: int, steps: int, lean: bool, repeats: int) -> dict[str, float]:
    """Return the median seconds of inference and of an episode, and the peak of this process in bytes."""
    torch.manual_seed(0)
    model, x = SEGMENTERS[network]().eval(), torch.randn(1, 3, height, width)
    source = tent.adapt(model, tent.Source(), lean=lean)
    found = {"inference": _median(lambda: source(x), repeats)}
    if steps:
        adapted = tent.adapt(model, steps=steps, episodic=True, answers="after", lean=lean)
        found["episode"] = _median(lambda: adapted(x), repeats)
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return found


def _median(call: Callable[[], Any], repeats: int) -> float:
    times = []
    for i in range(repeats + 1):
        start = time.perf_counter()
        call()
        if i or not repeats:  # the first warms up
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def run_alone(network: str, name: str, repeats: int, threads: int) -> dict[str, float]:
    """Measure a setting in a process of its own."""
    options = ["--network", network, "--setting", name, "--repeats", str(repeats), "--threads", str(threads)]
    ran = subprocess.run([sys.executable, __file__, *options], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(ran.stdout)  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", default="hrnet-w18", choices=[*SEGMENTERS])
    parser.add_argument("--only", nargs="*", default=[*SETTINGS], choices=[*SETTINGS])
    parser.add_argument("--repeats", type=int, default=1, help="0: the first call is the one that counts")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--setting", choices=[*SETTINGS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.setting:
        print(json.dumps(measure(options.network, *SETTINGS[options.setting], options.repeats)))
        return
    print(f"{options.network}, one image, {options.threads} threads\n")
    print("| image | inference (s) | episode, in passes of inference | peak of the process (GB) |\n|---|---|---|---|")
    for name in options.only:
        found = run_alone(options.network, name, options.repeats, options.threads)
        times = f"{found['episode'] / found['inference']:.1f}" if "episode" in found else ""
        print(f"| {name} | {found['inference']:.2f} | {times} | {found['peak'] / 1e9:.2f} |", flush=True)


if __name__ == "__main__":
    main()
