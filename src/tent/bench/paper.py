"""The published numbers of Tent (ICLR 2021), in the unit of each suite's metric, with the place they are printed in."""

from collections.abc import Mapping
from dataclasses import dataclass

MEAN = "mean"  # the column of a number that the paper gives as a mean over the columns
CITATION = "Wang et al., Tent: Fully Test-Time Adaptation by Entropy Minimization, ICLR 2021"


@dataclass(frozen=True)
class Published:
    """What one place of the paper says of one suite."""

    where: str
    values: Mapping[str, Mapping[str, float]]  # row -> column -> number
    note: str = ""  # in what the paper's setting differs from the suite's


def _digits(mnist: float, mnist_m: float, usps: float) -> Mapping[str, float]:
    return {"MNIST": mnist, "MNIST-M": mnist_m, "USPS": usps}


PAPER: Mapping[str, tuple[Published, ...]] = {
    "cifar10-c": (
        Published(
            "Table 2",
            {
                "Source": {MEAN: 40.8},
                "RG": {MEAN: 18.3},
                "UDA-SS": {MEAN: 16.7},
                "TTT": {MEAN: 17.5},
                "BN": {MEAN: 17.3},
                "PL": {MEAN: 15.7},
                "Tent": {MEAN: 14.3},
            },
        ),
    ),
    "digits": (
        Published(
            "Table 3",
            {
                "Source": _digits(18.2, 39.7, 19.3),
                "RG": _digits(15.0, 33.4, 18.9),
                "UDA-SS": _digits(11.1, 22.2, 18.4),
                "BN": _digits(15.7, 39.7, 18.0),
                "Tent": _digits(10.0, 37.0, 16.3),
                "Tent 10 epochs": _digits(8.2, 36.8, 14.4),
            },
        ),
        Published("the text of section 4.2", {"Source": {"MNIST→SVHN": 71.3}, "Tent": {"MNIST→SVHN": 79.8}}),
    ),
    "imagenet-c": (
        Published(
            "section 4.1",
            {"BN": {MEAN: 49.9}, "Tent": {MEAN: 44.0}},
            note="the paper's mean is over the five severities",
        ),
    ),
}


def published(suite: str) -> tuple[Published, ...]:
    """Return what the paper says of a suite; nothing where it does not."""
    return PAPER.get(suite, ())


def published_value(suite: str, row: str, column: str) -> float | None:
    """Return the paper's number of one cell, where there is one."""
    for part in published(suite):
        if column in part.values.get(row, {}):
            return part.values[row][column]
    return None
