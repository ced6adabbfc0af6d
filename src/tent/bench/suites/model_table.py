"""One short table of models: the paper's network, the same at twice its width, and a public one that is not ours."""

from collections.abc import Sequence

from tent.bench.suite import Cell, Suite
from tent.bench.suites.cifar import model_cells
from tent.bench.suites.table2 import SOURCES
from tent.data.corruptions import BENCHMARK

IMAGES = 2_000  # of each type, for the public network, which is slow on a CPU
NETWORKS = {"R-26": ("r26", None), "R-26, width 2": ("r26w2", None), "public DenseNet": ("densenet", IMAGES)}
METHODS = ("Source", "BN", "Tent", "Tent offline")
TITLES = {"cifar10-c": "CIFAR-10-C", "cifar100-c": "CIFAR-100-C"}
MEANS = {
    f"{title}, {method}": tuple(f"{title}, {method}, {type_}" for type_ in BENCHMARK)
    for title in TITLES.values()
    for method in METHODS
}


def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every network under every method on every type of both sets."""
    return [
        cell
        for seed in seeds
        for row, (network, most) in NETWORKS.items()
        for name in TITLES
        for cell in _cells(
            row, name, f"{network}-{SOURCES[name]}", seed, min(filter(None, (limit, most)), default=None)
        )
    ]


def _cells(row: str, name: str, model: str, seed: int, images: int | None) -> list[Cell]:
    plain = model_cells(name, model, METHODS, seed, images)
    return [Cell(row, f"{TITLES[name]}, {cell.row}, {cell.column}", cell.case) for cell in plain]


MODEL_TABLE = Suite(
    "models",
    "CIFAR-10-C and CIFAR-100-C, severity 5, by model (the public one: the first 2,000 images of each type)",
    cells,
    tuple(NETWORKS),
    tuple(column for own in MEANS.values() for column in own),
    "r26-cifar10",
    MEANS,
    only_means=True,
    compares_models=True,
)
