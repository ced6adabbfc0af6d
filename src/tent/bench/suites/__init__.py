"""The paper's tables, and hard streams, as suites."""

from tent.bench.suite import Suite
from tent.bench.suites.ablation import ABLATION, CLAIMS
from tent.bench.suites.by_type import CIFAR10C_BY_TYPE, CIFAR100C_BY_TYPE
from tent.bench.suites.cifar import CIFAR10C_CHOICE, CIFAR10C_SEVERITIES, CIFAR100C_CHOICE
from tent.bench.suites.digits import DIGITS
from tent.bench.suites.generalise import GENERALISE
from tent.bench.suites.model_table import MODEL_TABLE
from tent.bench.suites.other_networks import ARCHITECTURES
from tent.bench.suites.photographs.corrupted_photographs import CORRUPTED_SUITES
from tent.bench.suites.photographs.natural_shifts import NATURAL, PACS_TABLE, VISDAC
from tent.bench.suites.segmentation_table import SEGMENTATION
from tent.bench.suites.streams import STREAM_SUITES
from tent.bench.suites.table2 import CIFAR10C, CIFAR10C_ON_TEST, CIFAR100C

SUITES: dict[str, Suite] = {
    "cifar10-c": CIFAR10C,
    "cifar10-c-on-test": CIFAR10C_ON_TEST,
    "cifar10-c-choice": CIFAR10C_CHOICE,
    "cifar10-c-severities": CIFAR10C_SEVERITIES,
    "cifar10-c-by-type": CIFAR10C_BY_TYPE,
    "cifar100-c": CIFAR100C,
    "cifar100-c-choice": CIFAR100C_CHOICE,
    "cifar100-c-by-type": CIFAR100C_BY_TYPE,
    "models": MODEL_TABLE,
    "architectures": ARCHITECTURES,
    "digits": DIGITS,
    "ablation": ABLATION,
    "claims": CLAIMS,
    "generalise": GENERALISE,
    **CORRUPTED_SUITES,
    "visda-c": VISDAC,
    "pacs": PACS_TABLE,
    "natural": NATURAL,
    "segmentation": SEGMENTATION,
    **STREAM_SUITES,
}


def by_name(name: str) -> Suite:
    """Return a suite by its name."""
    if name not in SUITES:
        raise ValueError(f"no suite {name!r}; there are {', '.join(SUITES)}")
    return SUITES[name]
