"""ImageNet-C and VisDA-C: large images in folders, ResNet-50, the paper's settings for them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tent.bench.case import Case, Data
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Suite, grid
from tent.bench.suites.by_type import COLUMNS, MEANS, level_columns
from tent.bench.suites.cifar import columns
from tent.data.corruptions import BENCHMARK

MODEL = "timm:resnet50"
ROWS = ("Source", "BN", "Tent", "Tent offline")


def rows(name: str, images: int | None) -> list[tuple[str, Case]]:
    """Return the methods of the table, on a set."""
    case = Case(MODEL, (Data(name),), "source", batch_size=64, images=images)
    tent = replace(case, method="tent", optimizer="sgd", momentum=0.9, lr=2.5e-4)
    return list(zip(ROWS, (case, replace(case, method="bn"), tent, replace(tent, when="offline")), strict=True))


def imagenet_cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every method on every type at severity 5."""
    name = "imagenet-c"
    return [cell for seed in seeds for cell in grid(rows(name, limit), columns(name, seed, 5, BENCHMARK))]


def level_cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every method on the original images, and on every type at every level, as in the paper."""
    name = "imagenet-c"
    return [cell for seed in seeds for cell in grid(rows(name, limit), level_columns(name, "imagenet", seed))]


def visda_cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every method on the validation images."""

    def put(case: Case, seed: int) -> Case:
        return replace(case, seed=seed)

    columns = [[("VisDA-C", partial(put, seed=seed))] for seed in seeds]
    return [cell for column in columns for cell in grid(rows("visda-c", limit), column)]


IMAGENETC = Suite(
    "imagenet-c", "ImageNet-C, ResNet-50, severity 5", imagenet_cells, ROWS, BENCHMARK, MODEL, {MEAN: BENCHMARK}
)
IMAGENETC_BY_TYPE = Suite(
    "imagenet-c-by-type",
    "ImageNet-C, ResNet-50, by type over the five levels, and the original images",
    level_cells,
    ROWS,
    COLUMNS,
    MODEL,
    MEANS,
    only_means=True,
)
VISDAC = Suite("visda-c", "VisDA-C, ResNet-50", visda_cells, ROWS, ("VisDA-C",), MODEL)
