"""The ablation: what becomes of Tent on CIFAR-10-C when one of its choices is another."""

from collections.abc import Sequence
from dataclasses import replace

from tent.bench.case import Case, Data
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Suite, grid
from tent.bench.suites.cifar import FAMILIES, MODELS, columns

NAME = "cifar10-c"
# over two dozen variants on all fifteen would take a day, and a variant that matters does so on all families or says
# something by not
TYPES = FAMILIES
IMAGES = 2_000  # of each type, for the same reason
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
BATCHES = (1, 8, 32, 128, 500)
STEPS = (1, 2, 3, 5, 10)


def variants(images: int | None) -> list[tuple[str, Case]]:
    """Return Tent and its variants; those at Tent's own value are Tent's own case."""
    case = Case(MODELS[NAME], (Data(NAME),), "tent", optimizer="adam", lr=1e-3, images=images)
    return [
        ("Tent", case),
        ("without new statistics", replace(case, stats="source")),
        ("without γ and β (BN)", replace(case, method="bn", optimizer=None, lr=None)),
        ("last layer only", replace(case, select="last_layer")),
        ("all parameters", replace(case, select="everything")),
        ("all but the classifier", replace(case, select="all_but:fc")),
        *[(f"learning rate {rate:g}", replace(case, lr=rate)) for rate in RATES],
        *[(f"batch {size}", replace(case, batch_size=size)) for size in BATCHES],
        *[(f"{n} step{'s' if n > 1 else ''}", replace(case, steps=n)) for n in STEPS],
        ("answers after", replace(case, answers="after")),
    ]


def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every variant on every type."""
    images = min(limit or IMAGES, IMAGES)
    return [cell for seed in seeds for cell in grid(variants(images), columns(NAME, seed, 5, TYPES))]


MORE = (3, 10)  # epochs, where the paper says what more of them do


def claims(images: int | None) -> list[tuple[str, Case]]:
    """Return what the paper's section 4.3 speaks of: the source, Tent, and Tent without each of its parts."""
    own = dict(variants(images))
    tent = own["Tent"]
    found = [("Source", replace(tent, method="source", optimizer=None, lr=None)), ("Tent", tent)]
    found += [(row, own[row]) for row in ("without new statistics", "without γ and β (BN)")]
    for row in ("last layer only", "all parameters"):
        found += [(row, own[row]), *((f"{row}, {n} epochs", replace(own[row], epochs=n)) for n in MORE)]
    return found


def claim_cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every claim's case on every type, all images."""
    return [cell for seed in seeds for cell in grid(claims(limit), columns(NAME, seed, 5, TYPES))]


CLAIMS = Suite(
    "claims",
    "What Tent needs: the paper's claims on CIFAR-10-C, R-26, severity 5, all images of one type of each family",
    claim_cells,
    tuple(row for row, _ in claims(None)),
    TYPES,
    MODELS[NAME],
    means={MEAN: TYPES},
)
ABLATION = Suite(
    "ablation",
    "Ablation on CIFAR-10-C, R-26, severity 5, one type of each family",
    cells,
    tuple(row for row, _ in variants(None)),
    TYPES,
    MODELS[NAME],
    means={MEAN: TYPES},
    batch_rows=tuple(f"batch {size}" for size in BATCHES),
)
