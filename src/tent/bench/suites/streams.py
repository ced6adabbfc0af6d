"""Hard streams: shifts one after another, mixed or recurring, classes in bursts, single images, no time to wait."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tent.bench.case import Case, Data
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Suite
from tent.data.corruptions import BENCHMARK

SOURCES = {"cifar10-c": "cifar10", "cifar100-c": "cifar100"}
MODELS = {"cifar10-c": "r26-cifar10", "cifar100-c": "r26-cifar100"}
SOURCE_IMAGES = 2_000  # that EATA is shown, as in its paper
SINGLE_IMAGES = 200  # of a type: MEMO takes seconds for one
NAMES = {
    "Source": "source",
    "BN": "bn",
    "Tent": "tent",
    "ETA": "eta",
    "EATA": "eata",
    "RDumb": "rdumb",
    "SAR": "sar",
    "DeYO": "deyo",
    "SHOT": "shot",
    "CoTTA": "cotta",
    "RoTTA": "rotta",
    "ROID": "roid",
    "CMF": "cmf",
    "LAME": "lame",
    "T3A": "t3a",
}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {  # the papers' choices for a set, where they are not the defaults
    "cifar100-c": {
        **{row: {"redundancy": 0.1} for row in ("ETA", "EATA", "RDumb")},
        "CoTTA": {"threshold": 0.72},
    }
}
Rows = Callable[[str, int | None], list[tuple[str, Case]]]  # (set, images of a type) -> methods, on no type yet
STREAMS: dict[str, tuple[str, dict[str, Any]]] = {  # what a case is beside fifteen types one after another, never reset
    "continual": ("the types one after another, never reset", {}),
    "mixed": ("the types shuffled together", {"domains": "mixed"}),
    "correlated": ("the types one after another, classes in bursts", {"order": "correlated:0.1"}),  # RoTTA's
    "recurring": ("the types one after another, ten times over", {"domains": "recurring:10"}),
    "speed": ("the types one after another, as fast as plain answers take", {"pace": 1.0}),
}


def method_rows(name: str, images: int | None) -> list[tuple[str, Case]]:
    """Return every method at its paper's own settings, on no type yet."""
    case = Case(MODELS[name], (Data(name),), "source", images=images)
    source = Data(SOURCES[name], split="train", part=(0, SOURCE_IMAGES))
    own = OPTIONS.get(name, {})
    cases = {row: replace(case, method=method, options=own.get(row, {})) for row, method in NAMES.items()}
    return [(row, replace(each, prepare=source) if row == "EATA" else each) for row, each in cases.items()]


def domains(name: str, seed: int) -> tuple[Data, ...]:
    """Return the fifteen types in the seed's order; the benchmark's own for seed 0."""
    types = BENCHMARK if seed == 0 else tuple(np.random.default_rng(seed).permutation(BENCHMARK).tolist())
    return tuple(Data(name, corruption=type_, severity=5) for type_ in types)


def single_rows(name: str, images: int | None) -> list[tuple[str, Case]]:
    """Return what can be done with one image at a time: priors, source statistics, group norms, and MEMO."""
    case = Case(MODELS[name], (Data(name),), "source", images=images or SINGLE_IMAGES, batch_size=1)
    grouped = replace(case, model=f"r26-gn-{SOURCES[name]}")
    return [
        ("Source", case),
        ("BN, prior 16", replace(case, method="bn", stats="prior:16")),
        ("Tent, prior 16", replace(case, method="tent", stats="prior:16")),
        ("Tent, source statistics", replace(case, method="tent", stats="source")),
        ("SAR, source statistics", replace(case, method="sar", stats="source")),
        ("MEMO", replace(case, method="memo", reset="batch")),
        ("Source, group norm", grouped),
        ("Tent, group norm", replace(grouped, method="tent")),
        ("SAR, group norm", replace(grouped, method="sar")),
        ("MEMO, group norm", replace(grouped, method="memo", reset="batch")),
    ]


def cells(name: str, rows: Rows, stream: dict[str, Any], seeds: Sequence[int], limit: int | None) -> list[Cell]:
    """Return a cell a method and type, all types of one case; the seed decides the order of types and of images."""
    cases = [
        (row, replace(case, seed=seed, data=types, **stream))
        for seed in seeds
        for types in [domains(name, seed)]
        for row, case in rows(name, limit)
    ]
    return [Cell(row, str(data.corruption), case, data.label) for row, case in cases for data in case.data]


def _suite(name: str, kind: str, title: str, rows: Rows, stream: dict[str, Any]) -> Suite:
    return Suite(
        kind if name == "cifar10-c" else f"{name}-{kind}",
        f"{name.upper()}, severity 5: {title}",
        partial(cells, name, rows, stream),
        tuple(row for row, _ in rows(name, None)),
        BENCHMARK,
        MODELS[name],
        {MEAN: BENCHMARK},
    )


STREAM_SUITES: dict[str, Suite] = {
    suite.name: suite
    for name in SOURCES
    for suite in (
        *(_suite(name, kind, title, method_rows, stream) for kind, (title, stream) in STREAMS.items()),
        _suite(name, "single", "one image at a time, the types one after another", single_rows, {}),
    )
}
