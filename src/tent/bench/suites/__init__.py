"""The paper's tables, and hard streams, as suites."""

from tent.bench.suite import Suite
from tent.bench.suites.ablation import ABLATION
from tent.bench.suites.cifar import CIFAR10C_CHOICE, CIFAR10C_SEVERITIES, CIFAR100C, CIFAR100C_CHOICE
from tent.bench.suites.cifar10 import CIFAR10C
from tent.bench.suites.digits import DIGITS
from tent.bench.suites.generalise import GENERALISE
from tent.bench.suites.large import IMAGENETC, VISDAC
from tent.bench.suites.streams import STREAM_SUITES

SUITES: dict[str, Suite] = {
    "cifar10-c": CIFAR10C,
    "cifar10-c-choice": CIFAR10C_CHOICE,
    "cifar10-c-severities": CIFAR10C_SEVERITIES,
    "cifar100-c": CIFAR100C,
    "cifar100-c-choice": CIFAR100C_CHOICE,
    "digits": DIGITS,
    "ablation": ABLATION,
    "generalise": GENERALISE,
    "imagenet-c": IMAGENETC,
    "visda-c": VISDAC,
    **STREAM_SUITES,
}


def named(name: str) -> Suite:
    """Return a suite by its name."""
    if name not in SUITES:
        raise ValueError(f"no suite {name!r}; there are {', '.join(SUITES)}")
    return SUITES[name]
