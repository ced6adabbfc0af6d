"""The most memory that a process holds over batches of many sizes: lean against torch's own functions."""

import argparse
import random
import resource
import subprocess
import sys

from networks import NETWORKS, build

import tent


def peak(name: str, lean: bool, batches: int) -> int:
    """Return the bytes that this process held at most, beyond what it held before its first step."""
    model, x = build(name)
    adapted, draw = tent.adapt(model, lean=lean), random.Random(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(batches):
        adapted(x[: draw.randrange(len(x) // 8, len(x) + 1)])
    return 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", nargs="*", default=["R-26, batch 200", "MobileNetV3-L, batch 16"], choices=[*NETWORKS]
    )
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--lean", type=int, help="measure in this process, and print bytes")
    options = parser.parse_args()
    if options.lean is not None:
        print(peak(options.only[0], bool(options.lean), options.batches))
        return
    print("| network | lean | torch's own | ratio |\n|---|---|---|---|")
    for name in options.only:
        command = [sys.executable, __file__, "--batches", str(options.batches), "--only", name, "--lean"]
        lean, plain = (
            int(subprocess.run([*command, each], capture_output=True, text=True, check=True).stdout) for each in "10"
        )
        print(f"| {name} | {lean / 1e6:.0f} MB | {plain / 1e6:.0f} MB | {lean / plain:.2f} |", flush=True)


if __name__ == "__main__":
    main()
