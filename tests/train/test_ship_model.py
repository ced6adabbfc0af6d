"""`benchmarks/ship_model.py`: a training becomes a model of the package, in half of its bytes."""

import hashlib
import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tent.train import Recipe, train

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "ship_model.py"
RECIPE = Recipe("r26", "cifar10", epochs=1, batch=32, precision="float32")


@pytest.fixture
def folder(root, tmp_path, monkeypatch):
    monkeypatch.setenv("TENT_DATA", str(root))
    train(RECIPE, tmp_path / "run", root=root)
    return tmp_path / "run"


@pytest.fixture
def package(tmp_path):
    (tmp_path / "weights").mkdir()
    return tmp_path / "weights"


def ship(folder, package):
    script = runpy.run_path(str(SCRIPT))
    script["ship"].__globals__["PACKAGE"] = package
    script["ship"](folder, "small")


def test_kernels_are_halves_of_the_training_and_the_card_has_their_hash(folder, package):
    ship(folder, package)
    trained, shipped = load_file(folder / "model.safetensors"), load_file(package / "small.safetensors")
    assert {name: tensor.dtype for name, tensor in shipped.items() if tensor.dtype != trained[name].dtype} == {
        name: torch.float16 for name, tensor in trained.items() if tensor.ndim > 1
    }
    assert all(torch.equal(tensor, trained[name].to(tensor.dtype)) for name, tensor in shipped.items())
    card = json.loads((package / "small.json").read_text())
    assert card["weights_sha256"] == hashlib.sha256((package / "small.safetensors").read_bytes()).hexdigest()
    assert card["stored"] == "kernels in float16"
    assert card["test_images"] == 40


def test_other_test_images_and_values_beyond_float16_are_refused_before_anything_is_written(folder, package, root):
    state = load_file(folder / "model.safetensors")
    images = np.load(root / "cifar10" / "test_images.npy")
    np.save(root / "cifar10" / "test_images.npy", 255 - images)
    with pytest.raises(SystemExit, match=r"was tested on other images than cifar10 .*has now"):
        ship(folder, package)
    np.save(root / "cifar10" / "test_images.npy", images)
    state["fc.weight"][0] = 1e6
    save_file(state, folder / "model.safetensors")
    card = json.loads((folder / "card.json").read_text())
    card["weights_sha256"] = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    (folder / "card.json").write_text(json.dumps(card))
    with pytest.raises(SystemExit, match=r"fc\.weight has values beyond float16"):
        ship(folder, package)
    assert not list(package.iterdir())
