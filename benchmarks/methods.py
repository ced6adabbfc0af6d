"""What a step of every method costs as a multiple of Tent's: processor seconds, memory, and passes.

One process, the R-26 that ships and its demo images of fog in batches of 128. Steps of all methods are interleaved;
seconds are medians. Memory is the most that torch has allocated at once in a step, without weights and batch. Passes
are the images that the engine counted forward and backward in the same steps, for each image answered.
"""

import argparse
import statistics
import time
from itertools import cycle, islice

from torch import Tensor

import tent
from tent.apps.demo import demo_stream
from tent.bench.execute.peak_memory import measure_peak_memory
from tent.methods import METHODS, with_pixels
from tent.models import zoo

OTHERS = {"memo", "ttt"}  # for single images; for models with a rotation head


def list_methods(images: list[Tensor]) -> dict[str, tent.Adapted]:
    """Return every method on a model of its own state, EATA after it has seen images."""
    entry = zoo.load("r26-cifar10")
    adapted = {}
    for name, kind in METHODS.items():
        if name in OTHERS:
            continue
        own = tent.adapt(entry.model, with_pixels(kind(), entry.preprocess.mean, entry.preprocess.std))
        adapted[kind.__name__] = own.prepare(images[:2]) if "source data" in kind.needs else own
    return adapted


def measure(adapted: dict[str, tent.Adapted], images: list[Tensor], rounds: int) -> dict[str, float]:
    """Return the median processor seconds of a step of each method."""
    times: dict[str, list[float]] = {name: [] for name in adapted}
    for i, x in enumerate(islice(cycle(images), 1 + rounds)):
        for name, model in adapted.items():
            start = time.process_time()
            model(x)
            if i:  # the first round warms up, and is checked against torch's own functions
                times[name].append(time.process_time() - start)
    return {name: statistics.median(own) for name, own in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    images = [x for x, _, _ in demo_stream("fog") if len(x) == 128]
    adapted = list_methods(images)
    before = {name: (model.state.counts.forwards, model.state.counts.backwards) for name, model in adapted.items()}
    seconds = measure(adapted, images, options.rounds)
    answered = (1 + options.rounds) * 128
    passes = {
        name: ((after.forwards - before[name][0]) / answered, (after.backwards - before[name][1]) / answered)
        for name, after in ((name, model.state.counts) for name, model in adapted.items())
    }
    memory = {name: measure_peak_memory(model, ((images[0],), {})) for name, model in adapted.items()}
    print(f"Tent: {seconds['Tent']:.3f} s, {memory['Tent'] / 2**20:.0f} MiB a step of 128 images\n")
    print("| method | seconds, × Tent's | memory, × Tent's | forward | backward |\n|---|---:|---:|---:|---:|")
    for name in sorted(adapted, key=lambda name: seconds[name]):
        forward, backward = passes[name]
        ratios = f"{seconds[name] / seconds['Tent']:.2f} | {memory[name] / memory['Tent']:.2f}"
        print(f"| {name} | {ratios} | {forward:.1f} | {backward:.1f} |")


if __name__ == "__main__":
    main()
