"""The zoo: a name gives a model, its preprocessing, its number of classes, and where its weights come from."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from tent.data.preprocess import IMAGENET
from tent.data.sets.catalog import get_set
from tent.files import blame
from tent.models.cards import (
    CARD,
    build_from_card,
    load_source_model,
    load_trained,
    read_card,
    split_source_name,
    training_folder,
)
from tent.models.entry import Entry
from tent.models.libraries import LIBRARIES, describe_weights, load_factory
from tent.models.public import PUBLIC, load_public
from tent.models.robustbench import load_robustbench
from tent.models.segmenters import SEGMENTERS
from tent.models.weight_files import load_weights

WEIGHTS = Path(__file__).parent / "weights"
SHIPPED = (
    "r26-cifar10",
    "r26-cifar100",
    "r26w2-cifar10",
    "r26-svhn",
    "r26-mnist",
    "san10-pair-w0.25-cifar100",
    "san10-patch-w0.25-cifar100",
    "mdeq-w0.25-cifar100",
    "vit-cifar-w0.5-cifar100",
    "convnext-cifar-w0.5-cifar100",
)
NAMES = (
    f"{', '.join((*SHIPPED, *PUBLIC, *SEGMENTERS))}, trained:NAME, timm:NAME, torchvision:NAME, hf:NAME, "
    "robustbench:NAME, efficientnet-lite:NUMBER or FILE.py:factory"
)
KINDS = {**LIBRARIES, "robustbench": load_robustbench}


def load(name: str, weights: str | os.PathLike[str] | None = None, pretrained: bool = True) -> Entry:
    """Return the entry of a name, its model in eval mode.

    Args:
        weights: a file that takes the place of the name's own weights.
        pretrained: whether a library's own weights are wanted; if not, nothing is downloaded.
    """
    kind, _, rest = name.partition(":")
    if name in SHIPPED:
        entry = load_shipped(name)
    elif name in PUBLIC:
        entry = load_public(name, pretrained and weights is None)
    elif name in SEGMENTERS:
        entry = load_segmenter(name, pretrained and weights is None)
    elif split_source_name(name):
        entry = load_source_model(name)
    elif kind == "trained" and rest:
        entry = load_trained(rest)
    elif kind.endswith(".py") and rest:
        entry = load_factory(kind, rest)
    elif kind in KINDS and rest:
        entry = KINDS[kind](rest, pretrained and weights is None)
    else:
        raise ValueError(f"no model {name!r}; name it {NAMES}")
    if weights is not None:
        load_weights(entry.model, entry.name, weights)
        entry = replace(entry, weights=f"{Path(weights).name}", training=None)
    with blame(entry.name):  # torch refuses some modules of one's own
        entry.model.eval()
    return entry


def is_waiting(name: str) -> bool:
    """Tell whether a name is that of a source model of the tables that neither ships nor has been trained here."""
    return name not in SHIPPED and split_source_name(name) is not None and not (training_folder(name) / CARD).is_file()


def card(name: str) -> dict[str, Any]:
    """Return what is on the card of a shipped model: recipe, data, error, hash."""
    return read_card(WEIGHTS / f"{name}.json")


def load_shipped(name: str) -> Entry:
    """Return a model whose weights are part of the package."""
    return build_from_card(name, WEIGHTS / f"{name}.json", WEIGHTS / f"{name}.safetensors", "shipped")


def load_segmenter(name: str, pretrained: bool = False) -> Entry:
    """Return a network of Cityscapes' 19 classes at random weights: published ones are brought as a file.

    Args:
        pretrained: whether weights of its own are wanted, which it has not.
    """
    if pretrained:
        raise ValueError(
            f"{name} has no weights of its own; give a file of them, with --weights FILE, or name a training that"
            " `tent train` has left, as trained:FOLDER"
        )
    words, known = describe_weights(name, pretrained=False), get_set("cityscapes")
    return Entry(name, SEGMENTERS[name](known.classes), IMAGENET, known.classes, known.class_names, words)
