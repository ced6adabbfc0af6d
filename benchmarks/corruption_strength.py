"""Strength of the corruptions at 224 pixels against one run of the published generator, cell by cell.

Run: python benchmarks/corruption_strength.py [TYPE ...] [--seeds 24] [--reference]

On the 24 photographs of imagenet-val5k that the tests name, each cell shows by how much the mean of its worst channel
(of 255) and the distance from the clean images differ from that run. Fog, frost and elastic transforms are drawn with
several seeds: `one seed` is the range of the distances by seed, `spread` the deviation of a mean from seed to seed.

--reference draws the published definition itself with as many seeds, as `over_24_seeds` of the tests' file has it:
elastic transforms by SciPy, fog and frost by the package `imagecorruptions`, if it is installed.
"""

import argparse
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tent.data.corrupted.corruption import FRAME
from tent.data.corruptions import CORRUPTIONS, corrupt
from tent.data.data_folder import data_folder
from tent.data.sets.folders import read_image

RECORD = Path(__file__).parents[1] / "tests" / "data" / "corruptions" / "published_imagenet.json"
DRAWN = ("frost", "fog", "elastic_transform")  # whose strength on few images depends on the seed
SEVERITIES = range(1, 6)
SIDE = 244  # so the published constants have it, for images of 224
ELASTIC = ((2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02))

Images = NDArray[np.uint8]
Draw = Callable[[Images, str, int, int], NDArray[Any]]  # of clean images, a type, a severity and a seed


class Strength(NamedTuple):
    """Means of the channels and distances from the clean images, a row for each seed."""

    mean: NDArray[np.float64]  # (seeds, 3)
    rms: NDArray[np.float64]  # (seeds,)


def measure(draw: Draw, clean: Images, type: str, severity: int, seeds: int) -> Strength:
    """Return what a generator does to the photographs, seed by seed."""
    means, distances = [], []
    for seed in range(seeds):
        y = draw(clean, type, severity, seed).astype(np.float32)
        means.append(y.mean((0, 1, 2), dtype=float))
        distances.append(np.sqrt(((y - clean) ** 2).mean(dtype=float)))
    return Strength(np.array(means), np.array(distances))


def draw_ours(clean: Images, type: str, severity: int, seed: int) -> Images:
    """Corrupt the photographs by this library, with frost that is made."""
    return corrupt(clean, type, severity, seed=seed, frost="made")


def draw_reference(clean: Images, type: str, severity: int, seed: int) -> NDArray[Any]:
    """Corrupt the photographs by the published definition."""
    if type == "elastic_transform":
        random = np.random.default_rng(seed)
        return np.stack([stretch(image, severity, random) for image in clean])
    try:
        package: Any = importlib.import_module("imagecorruptions")
    except ImportError as missing:
        raise SystemExit(f"--reference of {type} needs pip install imagecorruptions ({missing})") from missing
    np.random.seed(seed)
    return np.stack([package.corrupt(image, corruption_name=type, severity=severity) for image in clean])


def stretch(image: Images, severity: int, random: np.random.Generator) -> Images:
    """Draw an elastic transform after its published definition, by SciPy alone."""
    strength, sigma, reach = (SIDE * share for share in ELASTIC[severity - 1])
    height, width = image.shape[:2]
    grid = np.mgrid[:height, :width].astype(float)  # rows and columns
    x = sample(image / 255, affine_places(grid, reach, random), "mirror")  # SciPy's word for OpenCV's REFLECT_101
    noise = random.uniform(-1, 1, (2, height, width))
    waves = [ndimage.gaussian_filter(each, sigma, mode="reflect", truncate=3) * strength for each in noise]
    return np.asarray(np.clip(sample(x, grid + waves, "reflect"), 0, 1) * 255, np.uint8)


def affine_places(grid: NDArray[Any], reach: float, random: np.random.Generator) -> NDArray[Any]:
    """Return where each pixel comes from when three points move by up to `reach`."""
    centre, third = np.array(grid.shape[1:]) // 2, min(grid.shape[1:]) // 3
    points = centre + third * np.array([(1, 1), (-1, 1), (-1, -1)])
    moved = points + random.uniform(-reach, reach, (3, 2))
    back = np.linalg.solve(np.c_[moved, np.ones(3)], points)  # (3, 2)
    return np.asarray(np.tensordot(back[:2].T, grid, 1) + back[2][:, None, None])


def sample(x: NDArray[Any], places: NDArray[Any], mode: str) -> NDArray[Any]:
    """Read the three channels at places between pixels, bilinearly."""
    return np.stack([ndimage.map_coordinates(x[..., k], places, order=1, mode=mode) for k in range(3)], axis=-1)


def print_reference(clean: Images, types: list[str], seeds: int) -> None:
    """Print means, spreads and distances over seeds, as the tests' file has them."""
    for type in types:
        for severity in SEVERITIES:
            seen = measure(draw_reference, clean, type, severity, seeds)
            spread = seen.mean.std(0, ddof=1).round(2).tolist() if seeds > 1 else None
            note = {"mean": seen.mean.mean(0).round(2).tolist(), "spread": spread, "rms": round(seen.rms.mean(), 2)}
            print(f"{type} {severity} {json.dumps(note)}; rms by seed {seen.rms.min():.2f} to {seen.rms.max():.2f}")


def print_strengths(clean: Images, types: list[str], seeds: int, published: dict[str, Any]) -> None:
    """Print each cell's differences from the published run."""
    print(f"{'type':20}{'severity':>9} |{'mean':>8}{'spread':>8} |{'rms %':>8}{'one seed':>16} |")
    for type in types:
        for severity in SEVERITIES:
            seen, then = measure(draw_ours, clean, type, severity, seeds if type in DRAWN else 1), published[type]
            mean = np.abs(seen.mean.mean(0) - then[str(severity)]["mean"]).max()
            percent = (seen.rms / then[str(severity)]["rms"] - 1) * 100
            spread = f"{seen.mean.std(0, ddof=1).max():8.2f}" if len(seen.rms) > 1 else f"{'':8}"
            drawn = f"{percent.min():+.1f} to {percent.max():+.1f}" if len(seen.rms) > 1 else ""
            print(f"{type:20}{severity:9} |{mean:8.2f}{spread} |{percent.mean():+8.1f}{drawn:>16} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("types", nargs="*", metavar="TYPE", help="the types to measure (default: all)")
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--reference", action="store_true", help="draw the published definition instead")
    options = parser.parse_args()
    if unknown := set(options.types) - set(DRAWN if options.reference else CORRUPTIONS):
        parser.error(f"cannot measure {', '.join(sorted(unknown))}; choose from {', '.join(CORRUPTIONS)}")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    folder = data_folder() / "imagenet-val5k"
    clean = np.stack([FRAME.shape(read_image(folder / file)) for file in record["images"]])
    if options.reference:
        print_reference(clean, options.types or list(DRAWN), options.seeds)
    else:
        print_strengths(clean, options.types or list(CORRUPTIONS), options.seeds, record["types"])


if __name__ == "__main__":
    main()
