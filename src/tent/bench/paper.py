"""The published numbers of Tent (ICLR 2021), in the unit of each suite's metric, with the place they are printed in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MEAN = "mean"  # the column of a number that the paper gives as a mean over the columns
CITATION = "Wang et al., Tent: Fully Test-Time Adaptation by Entropy Minimization, ICLR 2021"


@dataclass(frozen=True)
class Published:
    """What one place of the paper says of one suite."""

    where: str
    values: Mapping[str, Mapping[str, float]]  # row -> column -> number
    note: str = ""  # in what the paper's setting differs from the suite's
    epochs: Mapping[str, int] = field(default_factory=dict)  # row -> those of its joint training; beside no other


def _digits(mnist: float, mnist_m: float, usps: float) -> Mapping[str, float]:
    return {"MNIST": mnist, "MNIST-M": mnist_m, "USPS": usps}


def _means(*values: float) -> Mapping[str, Mapping[str, float]]:
    """Return a column of Table 2, in which adaptation is offline."""
    rows = ("Source", "RG", "UDA-SS", "TTT offline", "BN", "PL offline", "Tent offline")
    return {row: {MEAN: value} for row, value in zip(rows, values, strict=True)}


TABLE_2 = {
    "cifar10-c": _means(40.8, 18.3, 16.7, 17.5, 17.3, 15.7, 14.3),
    "cifar100-c": _means(67.2, 38.9, 47.0, 45.0, 42.6, 41.2, 37.3),
}
# a figure stands beside the row that is run as the paper ran it, and beside no other: Tables 2 and 3 are offline
PAPER: Mapping[str, tuple[Published, ...]] = {
    **{name: (Published("Table 2", values),) for name, values in TABLE_2.items()},
    "models": (
        Published(
            "Table 2",
            {
                "R-26": {
                    f"{title}, {row}": TABLE_2[name][row][MEAN]
                    for name, title in (("cifar10-c", "CIFAR-10-C"), ("cifar100-c", "CIFAR-100-C"))
                    for row in ("Source", "BN", "Tent offline")
                }
            },
        ),
    ),
    "architectures": (
        Published(
            "Tables 2 and 4",
            {
                row: dict(zip(("Source", "BN", "Tent offline"), values, strict=True))
                for row, values in {
                    "R-26": (67.2, 42.6, 37.3),
                    "SAN-10 pair": (55.3, 39.7, 36.7),
                    "SAN-10 patch": (48.0, 31.8, 29.2),
                    "MDEQ": (53.3, 44.9, 41.7),
                }.items()
            },
            "the paper's SAN-10 and MDEQ are wider, and its figures are of all 10,000 images of a type: levels cannot"
            " be compared; its Table 4 has the settings of Table 2, which is offline",
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
                "Tent offline": _digits(10.0, 37.0, 16.3),
                "Tent offline 10 epochs": _digits(8.2, 36.8, 14.4),
            },
            "MNIST-M: ours are 9,001 test images, the paper names 10,000",
            epochs={"RG": 10, "UDA-SS": 10},
        ),
        Published(
            "the text of section 4.2",
            {
                "Source": {"MNIST→SVHN": 71.3},
                "Tent": {"MNIST": 12.5},
                "Tent 10 epochs": {"MNIST": 8.4},
                "Tent offline": {"MNIST→SVHN": 79.8},
                "Tent offline 100 epochs": {"MNIST": 6.5},
            },
        ),
    ),
    "generalise": (
        Published(
            "section 4.3",
            {
                "Tent offline, on test": {MEAN: 37.3, "SVHN→MNIST": 8.2},
                "Tent offline, on train": {MEAN: 34.2, "SVHN→MNIST": 6.5},
            },
        ),
    ),
    "imagenet-c-by-type": (
        Published("section 4.1", {"BN": {MEAN: 49.9}, "Tent": {MEAN: 44.0}, "Tent offline": {MEAN: 42.3}}),
    ),
    "imagenet-val5k-c-by-type": (
        Published(
            "section 4.1",
            {},
            "with a ResNet-50 on all of ImageNet-C, over the same types and levels, the paper has BN 49.9, Tent 44.0"
            " and Tent offline 42.3; other images and another network, so beside no row here",
        ),
    ),
    "visda-c": (
        Published(
            "section 4.2",
            {
                row: {"VisDA-C": value}
                for row, value in (("Source", 56.1), ("Tent", 45.6), ("Tent on all but the classifier", 39.6))
            },
            "the paper gives one number each, and does not say whether online, nor by which optimizer all layers move",
        ),
    ),
    "pacs": (
        Published(
            "section 4.2",
            {},
            "the same question on other data, VisDA-C with a ResNet-50: the paper has source 56.1, Tent 45.6 and Tent"
            " on all but the classifier 39.6",
        ),
    ),
    "natural": (
        Published("section 5", {}, "the paper says, without a number, that Tent does not improve on the source there"),
    ),
    "segmentation": (
        Published(
            "section 4.2",
            {},
            "with HRNet-W18 from GTA to Cityscapes, in full size and 19 classes, the paper has source 28.8, BN 31.4,"
            " Tent offline 35.8 and ten iterations on single images 36.4; other data and classes, beside no row",
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


def published_epochs(suite: str, row: str) -> int | None:
    """Return the epochs of joint training that the paper's numbers of a row are of, where it has such."""
    return next((part.epochs[row] for part in published(suite) if row in part.epochs), None)
