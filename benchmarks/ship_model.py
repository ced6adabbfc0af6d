"""Put a finished training among the models that ship: its kernels as float16, its card with the error of these.

Run: python benchmarks/ship_model.py FOLDER NAME, then add NAME to `SHIPPED` in src/tent/models/zoo.py.
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import load_file

import tent.models
from tent.files import atomic_write
from tent.models.cards import CARD, WEIGHTS, build_from_card, read_card
from tent.train.domains import load_labelled
from tent.train.job import clean_error, record_residuals
from tent.train.run_folder import save_model

LARGEST = 5_000_000  # bytes
PACKAGE = Path(tent.models.__file__).parent / "weights"


def narrow(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Return a kernel or matrix as float16; norms, biases and statistics are small, and stay as they are."""
    half = tensor.half() if tensor.is_floating_point() and tensor.ndim > 1 else tensor
    if not half.isfinite().all():
        raise SystemExit(f"{name} has values beyond float16; ship it in float32")
    return half


def ship(folder: Path, name: str) -> dict[str, object]:
    """Write weights and card into the package under a name, and return the card."""
    card = read_card(folder / CARD)
    state = {own: narrow(own, tensor) for own, tensor in load_file(folder / WEIGHTS).items()}
    staged = folder / "shipped"
    staged.mkdir(exist_ok=True)
    save_model(state, card, staged)  # the card with the new hash, so that the model can be built from it
    entry = build_from_card(name, staged / CARD, staged / WEIGHTS, "staged")
    test = load_labelled(card["recipe"]["data"], "test")
    model = entry.model.eval().to(memory_format=torch.channels_last)
    with record_residuals(model) as residuals:
        measured = {"test_error": clean_error(model, test, entry.preprocess), "stored": "kernels in float16"}
    measured |= {"largest_residual": max(residuals)} if residuals else {}
    complete = save_model(state, {**card, "class_names": test.class_names, **measured}, staged)
    if (size := (staged / WEIGHTS).stat().st_size) > LARGEST:
        raise SystemExit(f"{folder}: {size:,} bytes, more than the {LARGEST:,} that may ship")
    (staged / WEIGHTS).replace(PACKAGE / f"{name}.safetensors")
    with atomic_write(PACKAGE / f"{name}.json") as beside:
        beside.write_text(json.dumps(complete, indent=2) + "\n", encoding="utf-8")
    return complete


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    options = parser.parse_args()
    card = ship(options.folder, options.name)
    print(f"{options.name}: error {card['test_error']:.2%}, {(PACKAGE / options.name).with_suffix('.safetensors')}")


if __name__ == "__main__":
    main()
