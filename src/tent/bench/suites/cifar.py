"""What all tables of CIFAR-10-C and CIFAR-100-C share: fifteen types, reset between them (the paper's section 4.1)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tent.bench.case import Case, Data
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Choice, Suite, grid
from tent.data.corruptions import BENCHMARK, HELD_OUT

MODELS = {"cifar10-c": "r26-cifar10", "cifar100-c": "r26-cifar100"}
SEVERITIES = (1, 2, 3, 4, 5)
SEVERITY = 5  # of tables with one
# one type of each of the benchmark's families (noise, blur, weather, digital), its first or best known: for what would
# take too long on all fifteen
FAMILIES = ("gaussian_noise", "defocus_blur", "fog", "jpeg_compression")
THRESHOLDS = (0, 0.5, 0.7, 0.9, 0.95, 0.99)
ROWS = ("Source", "BN", "PL", "Tent", "Tent offline")
HOW = {  # PL's threshold is chosen, in words
    "from": THRESHOLDS,
    "on": HELD_OUT,
    "rule": "lowest mean error over these types at severity 5, seed 0; the smallest in a tie",
}


def rows(name: str, images: int | None) -> list[tuple[str, Case]]:
    """Return the methods of the table, on no type yet; PL's threshold is undecided."""
    case = Case(MODELS[name], (Data(name),), "source", images=images)
    learns = replace(case, optimizer="adam", lr=1e-3)
    cases = (
        case,
        replace(case, method="bn"),
        replace(learns, method="pl", choose={"threshold": f"{name}-choice"}),
        replace(learns, method="tent"),
        replace(learns, method="tent", when="offline"),
    )
    return list(zip(ROWS, cases, strict=True))


def columns(name: str, seed: int, severity: int, types: Sequence[str]) -> list[tuple[str, Callable[[Case], Case]]]:
    """Return a column a type: what puts a case on it."""

    def put(case: Case, type_: str) -> Case:
        return replace(case, seed=seed, data=(Data(name, corruption=type_, severity=severity),))

    return [(type_, partial(put, type_=type_)) for type_ in types]


def model_cells(name: str, model: str, methods: Sequence[str], seed: int, images: int | None) -> list[Cell]:
    """Return some methods of the table on every type at severity 5, for a model of one's choice."""
    own = [(method, replace(case, model=model)) for method, case in rows(name, images) if method in methods]
    return grid(own, columns(name, seed, SEVERITY, BENCHMARK))


def severity_cells(name: str, seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return every method on every type at every severity, which the row names."""
    return [
        cell
        for seed in seeds
        for severity in SEVERITIES
        for cell in grid(
            [(_at(row, severity), case) for row, case in rows(name, limit)], columns(name, seed, severity, BENCHMARK)
        )
    ]


def choice_cells(name: str, seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return PL at every threshold on the types that are held out."""
    pl = dict(rows(name, limit))["PL"]
    candidates = [(f"PL {value:g}", pl.decide("threshold", value)) for value in THRESHOLDS]
    return [cell for seed in seeds for cell in grid(candidates, columns(name, seed, 5, HELD_OUT))]


def _at(row: str, severity: int) -> str:
    return f"{row}, severity {severity}"


def choice(name: str) -> Choice:
    """Return how PL's threshold is chosen."""
    return Choice("threshold", f"{name}-choice", lambda limit: choice_cells(name, (0,), limit), HOW)


def _choice_suite(name: str, title: str) -> Suite:
    candidates = tuple(f"PL {value:g}" for value in THRESHOLDS)
    own = partial(choice_cells, name)
    return Suite(f"{name}-choice", title, own, candidates, HELD_OUT, MODELS[name], {MEAN: HELD_OUT})


CIFAR10C_CHOICE = _choice_suite("cifar10-c", "CIFAR-10-C, the held-out types: PL's threshold")
CIFAR100C_CHOICE = _choice_suite("cifar100-c", "CIFAR-100-C, the held-out types: PL's threshold")
CIFAR10C_SEVERITIES = Suite(
    "cifar10-c-severities",
    "CIFAR-10-C, R-26, all severities",
    partial(severity_cells, "cifar10-c"),
    tuple(_at(row, severity) for severity in SEVERITIES for row in ROWS),
    BENCHMARK,
    MODELS["cifar10-c"],
    means={MEAN: BENCHMARK},
    choice=choice("cifar10-c"),
)
