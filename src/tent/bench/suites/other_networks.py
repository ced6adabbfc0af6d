"""The paper's Table 4: networks of other kinds than residual ones, on CIFAR-100-C; and two with layer norm alone."""

from collections.abc import Sequence

from tent.bench.suite import Cell, Suite
from tent.bench.suites.cifar import model_cells
from tent.bench.suites.table2 import SOURCES
from tent.data.corruptions import BENCHMARK

NAME = "cifar100-c"
NETWORKS = {  # at widths that are trained on a CPU
    "R-26": "r26",
    "SAN-10 pair": "san10-pair-w0.25",
    "SAN-10 patch": "san10-patch-w0.25",
    "MDEQ": "mdeq-w0.25",
    "ViT": "vit-cifar-w0.5",
    "ConvNeXt": "convnext-cifar-w0.5",
}
LAYER_NORM = ("ViT", "ConvNeXt")  # no statistics of a batch, so there is nothing that BN could change
IMAGES = 1000  # of each type: what an hour of one core answers
METHODS = ("Source", "BN", "Tent", "Tent offline")
MEANS = {method: tuple(f"{method}, {type_}" for type_ in BENCHMARK) for method in METHODS}


def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every network under every method that can adapt it, on every type."""
    return [cell for seed in seeds for row in NETWORKS for cell in _cells(row, seed, limit)]


def _cells(row: str, seed: int, images: int | None) -> list[Cell]:
    model = f"{NETWORKS[row]}-{SOURCES[NAME]}"
    methods = [method for method in METHODS if method != "BN" or row not in LAYER_NORM]
    plain = model_cells(NAME, model, methods, seed, IMAGES if images is None else min(images, IMAGES))
    return [Cell(row, f"{cell.row}, {cell.column}", cell.case) for cell in plain]


ARCHITECTURES = Suite(
    "architectures",
    "CIFAR-100-C, severity 5, by network (SAN and MDEQ at a quarter of their width, ViT and ConvNeXt at half; "
    f"the first {IMAGES:,} images of each type)",
    cells,
    tuple(NETWORKS),
    tuple(column for own in MEANS.values() for column in own),
    "san10-pair-w0.25-cifar100",
    MEANS,
    only_means=True,
    compares_models=True,
)
