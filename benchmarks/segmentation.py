"""What an episode on one image costs: steps as a multiple of inference, and the peak memory of a process.

Every setting runs in a process of its own, so that its peak resident memory is its own; torch's and Python's is in it.
The last one is the command, from a file of weights and an image to label maps and pictures.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

import tent
from tent.environment import hardware, versions
from tent.files import atomic_write
from tent.models import SEGMENTERS

PAPER_NETWORK, SMALL = "hrnet-w18", "hrnet-w18-small-v1"
SETTINGS = {  # network, height, width, steps, lean
    f"{SMALL}, 1024x512, 10 steps": (SMALL, 512, 1024, 10, True),
    f"{PAPER_NETWORK}, 1024x512, 10 steps": (PAPER_NETWORK, 512, 1024, 10, True),
    f"{PAPER_NETWORK}, 1024x512, 10 steps, lean=False": (PAPER_NETWORK, 512, 1024, 10, False),
    f"{PAPER_NETWORK}, 2048x1024, 1 step": (PAPER_NETWORK, 1024, 2048, 1, True),
}
COMMAND = f"{PAPER_NETWORK}, 2048x1024, tent adapt"
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes


def measure(network: str, height: int, width: int, steps: int, lean: bool, repeats: int) -> dict[str, float]:
    """Return the median seconds of inference and of an episode, in turns, and the peak of this process in bytes."""
    torch.manual_seed(0)
    model, x = SEGMENTERS[network]().eval(), torch.randn(1, 3, height, width)
    source = tent.adapt(model, tent.Source(), lean=lean)
    adapted = tent.adapt(model, steps=steps, episodic=True, answers="after", lean=lean)
    inference, episodes = list[float](), list[float]()
    for _ in range(repeats + 1):  # the first warms up
        inference.append(seconds(lambda: source(x)))
        episodes.append(seconds(lambda: adapted(x)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT
    return {"inference": statistics.median(inference[1:]), "episode": statistics.median(episodes[1:]), "peak": peak}


def seconds(call: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure_alone(name: str, repeats: int, threads: int) -> dict[str, float]:
    """Measure a setting in a process of its own."""
    options = ["--setting", name, "--repeats", str(repeats), "--threads", str(threads)]
    ran = subprocess.run([sys.executable, __file__, *options], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(ran.stdout)  # type: ignore[no-any-return]


def measure_command(threads: int) -> dict[str, float]:
    """Return the peak of `tent adapt` on a full-size image, in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        images, weights, out = Path(folder, "images"), Path(folder, "weights.pth"), Path(folder, "out")
        images.mkdir()
        pixels = np.random.default_rng(0).integers(0, 256, (1024, 2048, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(images / "street.png")
        torch.manual_seed(0)
        torch.save(SEGMENTERS[PAPER_NETWORK]().state_dict(), weights)
        command = [sys.executable, "-m", "tent", "adapt", PAPER_NETWORK, str(images), "--weights", str(weights)]
        command += ["--episodic", "--steps", "1", "--out", str(out)]  # and the picture of ten iterations
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        if status or not (out / "label_maps").is_dir():
            raise RuntimeError(f"tent adapt ended with {os.waitstatus_to_exitcode(status)}")
    return {"peak": used.ru_maxrss * RSS_UNIT}


def table_row(name: str, found: dict[str, float]) -> str:
    """Return a setting's line of the table."""
    times = [f"{found['inference']:.2f}", f"{found['episode'] / found['inference']:.0f}"] if "episode" in found else []
    return f"| {name} | {' | '.join(times or ['', ''])} | {found['peak'] / 1e9:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, default=Path("segmentation.json"))
    parser.add_argument("--setting", choices=[*SETTINGS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats must be 1 or more: the first round warms up and is not counted")
    torch.set_num_threads(options.threads)
    if options.setting:
        print(json.dumps(measure(*SETTINGS[options.setting], options.repeats)))
        return
    head = {"versions": versions(), "hardware": hardware(torch.device("cpu")), "repeats": options.repeats}
    report: dict[str, Any] = {**head, "settings": {}}
    print("| one image | inference (s) | episode, in passes of inference | peak of the process (GB) |")
    print("|---|---:|---:|---:|")
    for name in [*SETTINGS, COMMAND]:
        alone = name != COMMAND
        found = measure_alone(name, options.repeats, options.threads) if alone else measure_command(options.threads)
        report["settings"][name] = found
        print(table_row(name, found), flush=True)
    with atomic_write(options.out) as path:
        path.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
