"""The weights that ship: they load, they are what their cards say, and they make the errors that their cards name."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from real_sets import folder_or_skip
from safetensors.torch import load_file

import tent.models
from tent.data import Preprocess
from tent.data.sample import sample
from tent.data.sets.arrays import ArrayImages
from tent.models import find_network, zoo
from tent.train import Recipe
from tent.train.domains import load_labelled, read_pixels
from tent.train.job import clean_error

WEIGHTS = Path(tent.models.__file__).parent / "weights"
SHIPPED = {
    "r26-cifar10": 0.085,
    "r26-cifar100": 0.32,
    "r26w2-cifar10": 0.07,
    "r26-svhn": 0.04,
    "r26-mnist": 0.004,
    "san10-pair-w0.25-cifar100": 0.68,
    "san10-patch-w0.25-cifar100": 0.7,
    "mdeq-w0.25-cifar100": 0.75,
    "vit-cifar-w0.5-cifar100": 0.74,
    "convnext-cifar-w0.5-cifar100": 0.64,
}  # and the error that each was to stay below


def card_of(name: str) -> dict[str, Any]:
    return json.loads((WEIGHTS / f"{name}.json").read_text(encoding="utf-8"))


def model_of(name: str) -> torch.nn.Module:
    card = card_of(name)
    model = find_network(card["model"])(classes=card["classes"])
    model.load_state_dict(load_file(WEIGHTS / f"{name}.safetensors"))
    return model.eval()


def photographs(n: int) -> np.ndarray:
    return read_pixels(sample(), np.arange(n))


def preprocess_of(name: str) -> Preprocess:
    card = card_of(name)
    return Preprocess(size=card.get("size"), mean=card["mean"], std=card["std"])


def test_every_file_is_known():
    assert set(SHIPPED) == set(zoo.SHIPPED)
    assert {path.name for path in WEIGHTS.iterdir()} == {
        f"{n}.{end}" for n in SHIPPED for end in ("json", "safetensors")
    }


@pytest.mark.parametrize("name", SHIPPED)
def test_the_hash_of_the_weights_is_on_the_card(name):
    content = (WEIGHTS / f"{name}.safetensors").read_bytes()
    assert hashlib.sha256(content).hexdigest() == card_of(name)["weights_sha256"]
    assert len(content) < 5_000_000


@pytest.mark.parametrize("name", SHIPPED)
def test_the_weights_load_and_answer(name):
    model, card = model_of(name), card_of(name)
    assert all(p.dtype == torch.float32 and p.isfinite().all() for p in model.parameters())
    assert model(preprocess_of(name)(photographs(2))).shape == (2, len(card["class_names"]))


@pytest.mark.parametrize("name", SHIPPED)
def test_the_card_is_complete_and_its_command_is_that_of_its_recipe(name):
    card = card_of(name)
    assert card["command"] == Recipe(**card["recipe"]).command()
    assert card["test_error"] <= SHIPPED[name]
    assert card["recipe"]["flip"] == ("-cifar10" in name)
    for digest in (card["data_sha256"], card["test_sha256"]):
        assert len(bytes.fromhex(digest)) == 32
    assert all(len(bytes.fromhex(part["commit"])) == 20 for part in card["versions"])  # none from files not committed
    assert card["seconds"] > 0
    assert not [value for value in json.dumps(card).split('"') if value.startswith("/")]  # no path of a machine


@pytest.mark.real_data
@pytest.mark.parametrize("name", SHIPPED)
def test_the_weights_make_the_error_on_their_card(name, real_data):
    card = card_of(name)
    folder_or_skip(real_data, card["recipe"]["data"])
    test = load_labelled(card["recipe"]["data"], "test", real_data)
    assert (len(test), test.sha256) == (card["test_images"], card["test_sha256"])
    images = 500 if name.startswith("mdeq") else 2000  # whose equilibria take a while
    some = np.arange(0, len(test), len(test) // images)  # a set may be sorted by class
    part = ArrayImages(test.name, read_pixels(test, some), test.labels[some], test.classes)
    error = clean_error(model_of(name), part, preprocess_of(name))
    deviation = math.sqrt(card["test_error"] * (1 - card["test_error"]) / len(part))
    assert abs(error - card["test_error"]) < 4 * deviation


def test_the_equilibria_of_the_shipped_mdeq_were_found():
    entry = zoo.load("mdeq-w0.25-cifar100")
    tolerance = entry.model.eval().forward_solver.tolerance
    assert card_of("mdeq-w0.25-cifar100")["largest_residual"] < tolerance
    entry.model(entry.preprocess(photographs(16)))
    assert entry.model.last_residual < tolerance


def test_the_clean_error_on_the_shipped_images_is_that_of_the_card():
    card, images = card_of("r26-cifar10"), sample()
    error = clean_error(model_of("r26-cifar10"), images, preprocess_of("r26-cifar10"))
    deviation = math.sqrt(card["test_error"] * (1 - card["test_error"]) / len(images))
    assert abs(error - card["test_error"]) < 3 * deviation
