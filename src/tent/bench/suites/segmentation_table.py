"""Segmentation, synthetic to real: the paper's section 4.2 at a size that a CPU trains and adapts.

The paper goes from GTA to Cityscapes in 19 classes; here a small HRNet goes from CARLA to Cityscapes at 512x256, in the
seven classes that both have.
"""

from collections.abc import Sequence
from dataclasses import replace

from tent.bench.case import Case, Data
from tent.bench.suite import Cell, Suite

MODEL = "hrnet-w18-small-v1-carla-7"
COLUMNS = {"Cityscapes": Data("cityscapes-small-7")}
BATCH = 4
ITERATIONS = (1, 5, 10)
ROWS = (
    *("Source", "BN", "PL", "Tent", "Tent offline", "BN, single images"),
    *(f"Tent episodic {steps}" for steps in ITERATIONS),
)


def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every row on the validation images: online and offline by batches, and episodic on single images."""
    found: list[Cell] = []
    for seed in seeds:
        for column, data in COLUMNS.items():
            plain = Case(MODEL, (data,), "source", batch_size=BATCH, seed=seed, images=limit, task="segmentation")
            found += [Cell(row, column, case) for row, case in _rows(plain).items()]
    return found


def _rows(plain: Case) -> dict[str, Case]:
    tent = replace(plain, method="tent", optimizer="adam", lr=1e-3)
    alone = replace(tent, batch_size=1, reset="batch", answers="after")  # one image is a batch of pixels
    cases = (
        plain,
        replace(plain, method="bn"),
        replace(tent, method="pl"),
        tent,
        replace(tent, when="offline"),
        replace(plain, method="bn", batch_size=1),  # what of an episode's gain is the statistics' own
        *(replace(alone, steps=steps) for steps in ITERATIONS),
    )
    return dict(zip(ROWS, cases, strict=True))


SEGMENTATION = Suite(
    "segmentation",
    "Segmentation, small HRNet-W18: CARLA to Cityscapes at 512x256, 7 classes",
    cells,
    ROWS,
    tuple(COLUMNS),
    MODEL,
)
