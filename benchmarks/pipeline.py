"""Images a second from files to answers: the pipeline alone, the model alone, and both with and without reading ahead.

Run: python benchmarks/pipeline.py [FOLDER] [--decode] [--corruption TYPE] [--images 256] [--batch 64] [--repeats 2]

FOLDER holds photographs; imagenet-val5k in the data folder unless given. They are read as `tent bench` reads them:
decoded, resized and cropped once, before the clock starts, and kept in the data folder, so that `pipeline` is what each
pass then takes. With --decode every pass decodes them, as it does where there are more than 10,000. With --corruption
the kept crops are those of ImageNet-C, and are corrupted at severity 5 while they are read. All is interleaved, medians
are printed.
`slower` is the slower half. Both halves want the same cores: where each of them alone fills them all, no loader gets
past `bound`, which is 1 / (1/pipeline + 1/model).
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

import tent
from tent.data import Stream, load
from tent.data.corrupted.corrupted_images import CorruptedImages
from tent.data.corrupted.corruption import FRAME, QUALITY, Corruption
from tent.data.crop_cache import keep_crops
from tent.data.data_folder import crop_folder, data_folder
from tent.data.sets.folders import open_folder
from tent.data.sets.images import Images
from tent.data.stream import Batch
from tent.models import zoo

SET = "imagenet-val5k"
SEVERITY = 5
METHODS: tuple[tent.Method, ...] = (tent.Source(), tent.BN(), tent.Tent())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="photographs (default: imagenet-val5k)")
    parser.add_argument(
        "--corruption", metavar="TYPE", help="corrupt while reading, at severity 5: gaussian_noise, say"
    )
    parser.add_argument("--decode", action="store_true", help="decode the files in every pass")
    parser.add_argument("--model", default="efficientnet-lite:0")
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    if options.decode and options.corruption:
        parser.error("--decode is of clean photographs; with --corruption the crops are kept")
    tent.keep_memory()  # as the commands do
    entry = zoo.load(options.model)
    photographs = open_photographs(options.folder, options.corruption)
    if not options.decode:
        photographs = keep_crops(photographs, entry.preprocess, crop_folder(data_folder()))
    stream = Stream(photographs, options.batch, preprocess=entry.preprocess)
    stream = stream.first(min(options.images, stream.total))
    print(f"{entry.name} on {stream.protocol}; {torch.get_num_threads()} thread(s) of torch, {options.repeats} repeats")
    print(f"{'images a second':18}" + "".join(f"{name:>10}" for name in HEADS))
    for method in METHODS:
        print_row(type(method).__name__, measure(tent.adapt(entry.model, method), stream, options.repeats))


def open_photographs(folder: Path | None, corruption: str | None) -> Images:
    """Return the set's or a folder's images, clean or corrupted at severity 5 as they are read."""
    if folder is None:
        return load(SET) if corruption is None else load(f"{SET}-c", corruption=corruption, severity=SEVERITY)
    clean = open_folder(folder.expanduser(), labelled=False)
    if corruption is None:
        return clean
    how = Corruption(corruption, SEVERITY, frame=FRAME, quality=QUALITY)
    return CorruptedImages(f"{clean.name} {corruption} {SEVERITY}", clean, how, crop_folder(data_folder()))


def measure(model: tent.Adapted, stream: Stream, repeats: int) -> dict[str, float]:
    """Return the images a second of each way, interleaved."""
    held = list(stream)
    model(held[0].inputs)  # the first call is checked against torch's own functions
    ways: dict[str, Callable[[], None]] = {
        "pipeline": lambda: run(None, stream.prefetch(0)),
        "model": lambda: run(model, held),
        "in turn": lambda: run(model, stream.prefetch(0)),
        "ahead": lambda: run(model, stream.prefetch()),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - begun)
    return {name: stream.total / statistics.median(times) for name, times in seconds.items()}


def run(model: tent.Adapted | None, batches: Iterable[Batch]) -> None:
    for batch in batches:
        if model is not None:
            model(batch.inputs)


HEADS = ("pipeline", "model", "in turn", "/slower", "ahead", "/slower", "bound", "ahead/it")


def print_row(name: str, rates: dict[str, float]) -> None:
    slower = min(rates["pipeline"], rates["model"])
    bound = 1 / (1 / rates["pipeline"] + 1 / rates["model"])
    turn, ahead = rates["in turn"], rates["ahead"]
    numbers = [f"{rates['pipeline']:.1f}", f"{rates['model']:.1f}", f"{turn:.1f}", f"{turn / slower:.2f}"]
    numbers += [f"{ahead:.1f}", f"{ahead / slower:.2f}", f"{bound:.1f}", f"{ahead / bound:.2f}"]
    print(f"{name:18}" + "".join(f"{each:>10}" for each in numbers), flush=True)


if __name__ == "__main__":
    main()
