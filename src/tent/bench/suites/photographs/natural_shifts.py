"""Shifts that nobody computed: renderings to photographs, photographs to drawings, and test sets collected anew."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tent.bench.case import Case, Data
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Suite, grid
from tent.bench.suites.photographs.corrupted_photographs import LITE, RESNET, large_rows
from tent.models.cards import TRAINED, tuned_name

FEATURES = "on all but the classifier"
VISDA_MODEL = f"{TRAINED}{tuned_name(RESNET, 'visda-c')}"
VISDA_ROWS = ("Source", "BN", "Tent", "Tent offline", f"Tent {FEATURES}", f"Tent offline {FEATURES}")
PACS_MODEL = f"{TRAINED}{tuned_name(LITE, 'pacs-photo')}"
PACS_COLUMNS = {
    "photo": "pacs-photo",  # its test split, which is not shifted
    "art painting": "pacs-art-painting",
    "cartoon": "pacs-cartoon",
    "sketch": "pacs-sketch",
}
PACS_ROWS = (
    *("Source", "BN", "PL", "PL offline", "Tent", "Tent offline", f"Tent {FEATURES}", f"Tent offline {FEATURES}"),
    *("SHOT-IM", "SHOT-IM offline"),
)
NATURAL_ROWS = ("Source", "BN", "Tent")
NATURAL_COLUMNS = ("CIFAR-10.1", "ImageNetV2")


def visda_cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every method on the validation images, by the paper's settings for sets other than ImageNet.

    All layers but the classifier move by SGD, as in PACS; by what the paper moves them it does not say.
    """
    case = Case(VISDA_MODEL, (Data("visda-c"),), "source", images=limit)
    rows = {"Source": case, "BN": replace(case, method="bn")}
    rows |= _both_ways("Tent", replace(case, method="tent", optimizer="adam", lr=1e-3))
    features = replace(case, method="tent", select="feature_layers", optimizer="sgd", momentum=0.9, lr=1e-3)
    rows |= _both_ways("Tent", features, f" {FEATURES}")
    own = [(row, rows[row]) for row in VISDA_ROWS]
    return [cell for seed in seeds for cell in grid(own, [_column("VisDA-C", "visda-c", seed)])]


def pacs_rows(images: int | None) -> list[tuple[str, Case]]:
    """Return the methods of PACS, on photographs.

    γ and β move by Adam at the paper's rate for sets other than ImageNet, halved with its batch, which is halved to
    save memory. All layers but the classifier move by SGD at the rate that SHOT gives them; Adam's would destroy them.
    PL keeps its own threshold, since every target is in the table and none is left to choose it on.
    """
    case = Case(PACS_MODEL, (Data("pacs-photo"),), "source", batch_size=64, images=images)
    affine = replace(case, optimizer="adam", lr=5e-4)
    features = replace(case, select="feature_layers", optimizer="sgd", momentum=0.9, lr=1e-3)
    rows = {"Source": case, "BN": replace(case, method="bn")}
    rows |= _both_ways("PL", replace(affine, method="pl"))
    rows |= _both_ways("Tent", replace(affine, method="tent"))
    rows |= _both_ways("Tent", replace(features, method="tent"), f" {FEATURES}")
    rows |= _both_ways("SHOT-IM", replace(features, method="shot"))
    return [(row, rows[row]) for row in PACS_ROWS]


def pacs_cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every method on every domain."""
    rows = pacs_rows(limit)
    return [cell for seed in seeds for cell in grid(rows, [_column(*column, seed) for column in PACS_COLUMNS.items()])]


def natural_cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return source, BN and Tent on both sets, each with the model and the settings that the paper has for its kind."""
    case = Case("r26-cifar10", (Data("cifar10.1"),), "source", images=limit)
    small = {"Source": case, "BN": replace(case, method="bn")}
    small["Tent"] = replace(case, method="tent", optimizer="adam", lr=1e-3)
    large = dict(large_rows(RESNET, "imagenetv2", limit))
    cases = dict(zip(NATURAL_COLUMNS, (small, large), strict=True))
    return [
        Cell(row, column, replace(cases[column][row], seed=seed))
        for seed in seeds
        for row in NATURAL_ROWS
        for column in NATURAL_COLUMNS
    ]


def _both_ways(row: str, case: Case, what: str = "") -> dict[str, Case]:
    return {f"{row}{what}": case, f"{row} offline{what}": replace(case, when="offline")}


def _column(title: str, name: str, seed: int) -> tuple[str, Callable[[Case], Case]]:
    return title, lambda case: replace(case, seed=seed, data=(Data(name),))


VISDAC = Suite("visda-c", "VisDA-C, ResNet-50", visda_cells, VISDA_ROWS, ("VisDA-C",), VISDA_MODEL)
PACS_TABLE = Suite(
    "pacs",
    "PACS, EfficientNet-Lite0 tuned on photographs: other photographs, art paintings, cartoons, sketches (the mean is "
    "over the last three)",
    pacs_cells,
    PACS_ROWS,
    tuple(PACS_COLUMNS),
    PACS_MODEL,
    {MEAN: tuple(PACS_COLUMNS)[1:]},
)
NATURAL = Suite(
    "natural",
    "Test sets collected anew: CIFAR-10.1 with R-26, ImageNetV2 (matched frequency) with ResNet-50",
    natural_cells,
    NATURAL_ROWS,
    NATURAL_COLUMNS,
    "r26-cifar10",
)
