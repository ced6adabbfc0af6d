"""How long one pass over CIFAR-10's test set takes as a stream of normalised batches, and what memory it holds.

Run: python benchmarks/stream.py [ROOT]
"""

import platform
import sys
import time
import tracemalloc

import numpy as np
import torch

from tent.data import Images, Preprocess, Stream, load

PREPROCESS = Preprocess(mean=(0.4914, 0.4822, 0.4465), std=(0.2471, 0.2435, 0.2616))


def main() -> None:
    images = load("cifar10", root=sys.argv[1] if len(sys.argv) > 1 else None)
    stream = Stream(images, batch_size=128, preprocess=PREPROCESS)
    passes = [seconds(stream) for _ in range(5)]
    raw = sorted(reading(images, stream.total) for _ in range(5))[2]
    print(stream.protocol)
    print(f"python {platform.python_version()}, torch {torch.__version__}, {torch.get_num_threads()} thread(s)")
    print(f"first pass {passes[0]:.2f} s, median of five {sorted(passes)[2]:.2f} s")
    print(f"{sorted(passes)[2] / raw:.1f} times as long as copying the same rows out of the mapped file")
    print(f"numpy's peak {peak(stream) / 1e6:.2f} MB; one batch is {128 * 3072 / 1e6:.2f} MB as stored")


def seconds(stream: Stream) -> float:
    start = time.perf_counter()
    for _ in stream:
        pass
    return time.perf_counter() - start


def reading(images: Images, total: int) -> float:
    order = np.random.default_rng(0).permutation(total)
    start = time.perf_counter()
    for first in range(0, total, 128):
        images.fetch(order[first : first + 128])
    return time.perf_counter() - start


def peak(stream: Stream) -> int:
    tracemalloc.start()
    for _ in stream:
        pass
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return held


if __name__ == "__main__":
    main()
