"""Speed of the corruptions: images a second at 32 and at 224 pixels, and how the time grows with the number of images.

Run it as: python benchmarks/corruptions.py [--help]. Times are given by the wall's clock and by the processor's, since
other work on the machine disturbs the first; the growth is a ratio of processor times inside the run. With --published
it compares the processor's time at 224 pixels with that of the published generator, by turns, for which the package
`imagecorruptions` must be installed, and shows how time grows with pixels and memory with images.
"""

import argparse
import importlib
import os
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tent.data.corruptions import BENCHMARK, CORRUPTIONS, corrupt

# seconds of the published generator for 10,000 images of 32 pixels at severity 5, where they are known
PUBLISHED = {"glass_blur": 116, "frost": 47, "zoom_blur": 38, "brightness": 26, "motion_blur": 20, "snow": 17}
PUBLISHED_TOTAL = 300


class Timing(NamedTuple):
    """Seconds of one call."""

    wall: float
    processor: float


def timing(images: NDArray[np.uint8], type: str, severity: int) -> Timing:
    wall, processor = time.perf_counter(), time.process_time()
    corrupt(images, type, severity)
    return Timing(time.perf_counter() - wall, time.process_time() - processor)


def processor(seen: Timing) -> float:
    return seen.processor


def surfaces(count: int, side: int) -> NDArray[np.uint8]:
    """Make pictures with the falling spectrum of photographs."""
    noise = np.random.default_rng(0).normal(size=(min(count, 64), side, side, 3))
    cycles = np.maximum(np.hypot(np.fft.fftfreq(side)[:, None], np.fft.fftfreq(side)), 1 / side)
    x = np.fft.ifft2(np.fft.fft2(noise, axes=(1, 2)) / cycles[:, :, None], axes=(1, 2)).real
    x = np.clip(128 + 50 * x / x.std(), 0, 255).astype(np.uint8)
    return np.ascontiguousarray(np.resize(x, (count, side, side, 3)))


def pictures(path: Path | None, count: int) -> NDArray[np.uint8]:
    """Take the small images: those of a file, or made ones."""
    if path is None:
        return surfaces(count, 32)
    images: NDArray[np.uint8] = np.load(path, mmap_mode="r")
    return np.ascontiguousarray(np.resize(images, (count, *images.shape[1:])))


def arguments(line: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("types", nargs="*", metavar="TYPE", help="the types to time (default: all)")
    parser.add_argument("--images", type=Path, help="an .npy file of uint8 images (n, 32, 32, 3); made ones otherwise")
    parser.add_argument("--count", type=int, default=10_000, help="small images; a tenth of them shows the growth")
    parser.add_argument("--large", type=int, default=16, help="images of 224 pixels")
    parser.add_argument("--severity", type=int, default=5)
    parser.add_argument("--published", action="store_true", help="compare with the published generator instead")
    given = parser.parse_args(line)
    if unknown := set(given.types) - set(CORRUPTIONS):
        parser.error(f"no corruption is called {', '.join(sorted(unknown))}; choose from {', '.join(CORRUPTIONS)}")
    if given.count < 10 or given.large < 1:
        parser.error("--count must be at least 10 and --large at least 1")
    return given


def load_published() -> Callable[..., Any]:
    """Return the published generator's function for one image; newer scikit-image has renamed one of its words."""
    try:
        package: Any = importlib.import_module("imagecorruptions")
        kernels: Any = importlib.import_module("imagecorruptions.corruptions")
    except ImportError as missing:
        raise SystemExit(f"--published needs pip install imagecorruptions ({missing})") from missing
    smooth = kernels.gaussian

    def gaussian(*given: Any, multichannel: bool = False, **options: Any) -> Any:
        return smooth(*given, channel_axis=-1 if multichannel else None, **options)

    kernels.gaussian = gaussian
    function: Callable[..., Any] = package.corrupt
    return function


def growth(small: NDArray[np.uint8], large: NDArray[np.uint8], type: str, severity: int) -> float:
    """Return how the processor's time for a pixel grows with the size of the images; 1 is linear."""
    times = [min(timing(x, type, severity).processor for _ in range(3)) / x.size for x in (small, large)]
    return times[1] / times[0]


def peak_memory(images: NDArray[np.uint8], type: str, severity: int) -> float:
    """Return the megabytes that a call holds at most beside its result."""
    tracemalloc.start()
    corrupt(images, type, severity)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (peak - images.nbytes) / 1e6


def compare(given: argparse.Namespace) -> None:
    """Time both generators image by image, by turns, over the benchmark's types."""
    published, images, wide = load_published(), surfaces(given.large, 224), surfaces(4, 448)
    many = surfaces(4 * given.large, 224)
    print(f"severity {given.severity}, {given.large} images of 224 pixels, processor time of one image")
    print(f"{'type':18}|{'ours ms':>9}{'theirs ms':>11}{'ratio':>8} |{'448 px':>8} |{'MB':>8}{'MB, 4 x':>9} |")
    total = np.zeros(2)
    for type in given.types or BENCHMARK:
        timing(images[:1], type, given.severity)
        published(images[0], corruption_name=type, severity=given.severity)
        seconds = np.zeros(2)
        for image in images:
            seconds[0] += timing(image[None], type, given.severity).processor
            start = time.process_time()
            published(image, corruption_name=type, severity=given.severity)
            seconds[1] += time.process_time() - start
        own, theirs = seconds / len(images) * 1000
        pixels = growth(images[:4], wide, type, given.severity)
        memory = [peak_memory(x, type, given.severity) for x in (images, many)]
        print(f"{type:18}|{own:9.1f}{theirs:11.1f}{theirs / own:8.1f} |{pixels:8.2f} |", end="")
        print(f"{memory[0]:8.1f}{memory[1]:9.1f} |", flush=True)
        total += own, theirs
    print(f"{'all':18}|{total[0]:9.1f}{total[1]:11.1f}{total[1] / total[0]:8.1f} |")
    print("448 px: time of a pixel over that at 224 pixels, 1 is linear; MB: peak beside the result, and of four times")
    print("as many images")


def main(line: Sequence[str] | None = None) -> None:
    given = arguments(line)
    if given.published:
        compare(given)
        return
    small, large = pictures(given.images, given.count), surfaces(given.large, 224)
    print(
        f"severity {given.severity}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, numpy {np.__version__}"
    )
    print(f"{'':18}|{f'{given.count} images of 32 pixels':^46}|{'of 224 pixels':^13}|")
    print(f"{'type':18}|{'wall s':>8}{'cpu s':>8}{'images/s':>10}{'growth':>8}{'published':>11} |{'images/s':>12} |")
    total = Timing(0, 0)
    for type in given.types or CORRUPTIONS:
        timing(small[:64], type, given.severity)  # what is made once, such as tables, is not timed
        tenth = min((timing(small[: given.count // 10], type, given.severity) for _ in range(3)), key=processor)
        whole = timing(small, type, given.severity)
        timing(large[:1], type, given.severity)
        wide = timing(large, type, given.severity)
        growth = whole.processor / tenth.processor / (len(small) / (given.count // 10))
        times = f"{PUBLISHED[type] / whole.wall * given.count / 10_000:.0f} x" if type in PUBLISHED else ""
        print(
            f"{type:18}|{whole.wall:8.2f}{whole.processor:8.2f}{given.count / whole.wall:10.0f}{growth:8.2f}{times:>11}"
            f" |{given.large / wide.wall:12.1f} |",
            flush=True,
        )
        if type in BENCHMARK:
            total = Timing(total.wall + whole.wall, total.processor + whole.processor)
    scaled = PUBLISHED_TOTAL * given.count / 10_000
    print(f"{'the benchmark’s':18}|{total.wall:8.2f}{total.processor:8.2f}", end="")
    print(f"   (published generator: about {scaled:.0f} s)" if not given.types else "")
    print("growth: processor time for all images over ten times that for a tenth of them; 1 is linear")


if __name__ == "__main__":
    main()
