"""What a card says of a source model beyond its clean error: how it does under BN on types that no table has."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from tent.adapted import adapt
from tent.data import Images, Preprocess, Stream
from tent.data.corruptions import HELD_OUT, corrupt
from tent.data.order import Shuffled
from tent.data.sets.arrays import ArrayImages
from tent.data.sets.catalog import SETS
from tent.evaluate import evaluate
from tent.files import atomic_write
from tent.methods import BN
from tent.models.cards import CARD, WEIGHTS, build_from_card
from tent.tasks import Classification
from tent.train.domains import load_labelled, read_pixels
from tent.train.run_folder import lock_run, read_card

SEVERITY, BATCH = 5, 128


def add_held_out_errors(folder: Path, root: Path | None = None) -> dict[str, Any]:
    """Add to the card of a finished training its errors on the held-out types, unless they are there; return it."""
    path = folder / CARD
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no card; name a folder of a finished training")
    with lock_run(folder):
        card = read_card(path)
        if "held_out" in card:
            return card
        source = str(card["recipe"].get("data"))
        if source not in {known.made_from for known in SETS.values()}:
            raise ValueError(f"{path}: trained on {source}, which no corruption benchmark is made from")
        entry = build_from_card(folder.name, path, folder / WEIGHTS, "trained")
        errors = held_out_errors(entry.model.eval(), load_labelled(source, "test", root), entry.preprocess)
        card["held_out"] = {"method": "bn", "severity": SEVERITY, "batch": BATCH, "seed": 0, "errors": errors}
        card["held_out"]["mean"] = round(sum(errors.values()) / len(errors), 6)
        with atomic_write(path) as beside:
            beside.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return card


def held_out_errors(model: nn.Module, test: Images, preprocess: Preprocess) -> dict[str, float]:
    """Return the error under BN on each held-out type at severity 5, made from clean test images."""
    clean, errors = read_pixels(test, np.arange(len(test))), {}
    for type_ in HELD_OUT:
        shifted = ArrayImages(f"{test.name} {type_}", corrupt(clean, type_, SEVERITY), test.labels, test.classes)
        stream = Stream(shifted, BATCH, Shuffled(0), preprocess)
        errors[type_] = evaluate(adapt(model, BN()), stream, Classification()).metrics["error"]
    return errors
