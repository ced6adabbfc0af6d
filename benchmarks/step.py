"""A Tent step of ours against the published recipe's, and inference: seconds and saved bytes, interleaved, as ratios.

Two processes do the work in turn, one of them after `tent.keep_memory()`, which is for a whole process and for good.
"""

import argparse
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from networks import NETWORKS, Plain, build
from torch import Tensor, nn

import tent
from tent.doctor.memory import readable, saved_bytes
from tent.environment import hardware, versions
from tent.files import atomic_write

WARM_UP = 2  # rounds that are not counted
STEPS = ("plain step", "ours", "ours, bfloat16")  # whose saved bytes are counted
NAMES = ("plain inference", "Source", "BN", *STEPS)
KEPT = ("ours", "ours, bfloat16")  # measured once more where memory is kept


def list_subjects(model: nn.Module) -> dict[str, Callable[[Tensor], Any]]:
    """Return everything that is measured, by name."""

    def plain_inference(x: Tensor) -> Any:
        with torch.inference_mode():
            return model(x)

    steps: dict[str, Callable[[Tensor], Any]] = {"plain inference": plain_inference}
    steps["Source"] = tent.adapt(model, tent.Source())
    if any(isinstance(module, nn.BatchNorm2d) for module in model.modules()):
        steps["BN"] = tent.adapt(model, tent.BN())
    steps["plain step"] = Plain(model)
    steps["ours"] = tent.adapt(model)
    steps["ours, bfloat16"] = tent.adapt(model, precision="bfloat16")
    return steps


def bytes_for_backward(step: Any, model: nn.Module, x: Tensor) -> int:
    """Return the bytes that one step saves between its forward and its backward pass, weights apart."""
    own = step.model if isinstance(step, Plain) else step
    with saved_bytes([*model.parameters(), *model.buffers(), *own.parameters()]) as count:
        step(x)
    return count.bytes


def serve(pipe: Connection, keeps: bool, threads: int) -> None:
    """Time what the other end asks for: a network first, then its subjects one by one."""
    torch.set_num_threads(threads)
    if keeps and not tent.keep_memory():
        raise OSError("memory can be kept with glibc alone")
    model, x, steps = nn.Module(), torch.empty(0), dict[str, Callable[[Tensor], Any]]()
    while (request := pipe.recv()) is not None:
        what, name = request
        if what == "network":
            steps.clear()
            model, x = build(name)
            steps = list_subjects(model)
            pipe.send([*steps])
        elif what == "bytes":
            pipe.send(bytes_for_backward(steps[name], model, x))
        else:
            start = time.perf_counter()
            steps[name](x)
            pipe.send(time.perf_counter() - start)


class Process:
    """A process that times steps."""

    def __init__(self, keeps: bool, threads: int) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        context.Process(target=serve, args=(theirs, keeps, threads), daemon=True).start()

    def ask(self, what: str, name: str) -> Any:
        self.pipe.send((what, name))
        return self.pipe.recv()


def measure(name: str, plain: Process, keeping: Process, repeats: int) -> dict[str, Any]:
    """Return the medians of a network: seconds by subject and process, and bytes of what is saved."""
    turns = [(plain, subject, subject) for subject in plain.ask("network", name)]
    keeping.ask("network", name)
    turns += [(keeping, subject, f"{subject}, memory kept") for subject in KEPT]
    times: dict[str, list[float]] = {label: [] for _, _, label in turns}
    for i in range(WARM_UP + repeats):
        turn = i % len(turns)  # each comes first in its turn
        for process, subject, label in turns[turn:] + turns[:turn]:
            seconds = process.ask("step", subject)
            if i >= WARM_UP:
                times[label].append(seconds)
        print(f"\r{name}: round {i + 1} of {WARM_UP + repeats} ", end="", file=sys.stderr, flush=True)
    print("\r" + " " * 60, end="\r", file=sys.stderr)
    return {
        "repeats": repeats,
        "seconds": {label: statistics.median(steps) for label, steps in times.items()},
        "bytes": {step: plain.ask("bytes", step) for step in STEPS},
    }


def table_row(name: str, steps: dict[str, Any]) -> str:
    """Return a network's line of the table."""
    seconds, saved_bytes = steps["seconds"], steps["bytes"]
    base = seconds["plain step"]
    times = [*NAMES[:3], "ours", "ours, memory kept", "ours, bfloat16"]
    cells = [f"{base:.3f} s", *(f"{seconds[each] / base:.2f}" if each in seconds else "" for each in times)]
    cells += [readable(saved_bytes["plain step"])]
    cells += [f"{saved_bytes[each] / saved_bytes['plain step']:.2f}" for each in STEPS[1:]]
    cells += [f"{seconds['ours'] / seconds['Source']:.2f}"]
    return f"| {name} | " + " | ".join(cells) + " |"


def load_report(path: Path, threads: int) -> dict[str, Any]:
    """Return the report that lies there already, if it is of this machine and software, or a new one."""
    head = {"versions": versions(), "hardware": hardware(torch.device("cpu")), "threads": threads}
    there = json.loads(path.read_text()) if path.is_file() else {}
    return {**head, "networks": there.get("networks", {}) if all(there.get(key) == head[key] for key in head) else {}}


TITLES = (
    *("plain step", "inference", "Source", "BN", "ours", "ours, kept", "bfloat16"),
    *("plain step saves", "ours", "bfloat16", "step / Source"),
)
HEAD = f"| | {' | '.join(TITLES)} |\n|{'---|' * (len(TITLES) + 1)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--only", nargs="*", default=[*NETWORKS], choices=[*NETWORKS])
    parser.add_argument(
        "--out", type=Path, default=Path("step.json"), help="networks that lie there and are not run stay"
    )
    options = parser.parse_args()
    plain, keeping = (Process(keeps, options.threads) for keeps in (False, True))
    print("times and saved bytes as shares of the plain step's; medians of", options.repeats, "\n")
    print(HEAD)
    report = load_report(options.out, options.threads)
    for name in options.only:
        report["networks"][name] = measure(name, plain, keeping, options.repeats)
        print(table_row(name, report["networks"][name]), flush=True)
    for process in (plain, keeping):
        process.pipe.send(None)
    with atomic_write(options.out) as path:
        path.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
