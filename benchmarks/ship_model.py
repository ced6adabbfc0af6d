"""Put a finished training among the models that ship: its kernels as float16, its card with the error of these.

Run: python benchmarks/ship_model.py FOLDER NAME, then add NAME to `SHIPPED` in src/tent/models/zoo.py.
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor

import tent.models
from tent.models.cards import CARD, WEIGHTS, build_from_card, read_card
from tent.train.domains import load_labelled
from tent.train.job import measure_classifier
from tent.train.run_folder import save_model

PACKAGE = Path(tent.models.__file__).parent / "weights"


def narrow(name: str, tensor: Tensor) -> Tensor:
    """Return a kernel or matrix as float16; norms, biases and statistics are small, and stay as they are."""
    half = tensor.half() if tensor.is_floating_point() and tensor.ndim > 1 else tensor
    if not half.isfinite().all():
        raise SystemExit(f"{name} has values beyond float16; ship it in float32")
    return half


def ship(folder: Path, name: str) -> None:
    """Write weights and card into the package under a name."""
    card, entry = read_card(folder / CARD), build_from_card(name, folder / CARD, folder / WEIGHTS, "trained")
    state = {own: narrow(own, tensor) for own, tensor in entry.model.state_dict().items()}
    entry.model.load_state_dict(state)
    test = load_labelled(card["recipe"]["data"], "test")
    if test.sha256 != card["test_sha256"]:
        raise SystemExit(f"{folder}: was tested on other images than {test.name} has now")
    with torch.no_grad():
        measured = measure_classifier(entry.model.eval(), test, entry.preprocess, card["recipe"]["batch"])
    about = {**card, "class_names": test.class_names, "stored": "kernels in float16", **measured}
    save_model(state, about, PACKAGE, (f"{name}.safetensors", f"{name}.json"))
    print(f"{name}: {measured}, in {PACKAGE}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    ship(**vars(parser.parse_args()))
