"""Training at a size: images, normalisation, error and card all follow it, and without one nothing changes."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from tent.data import Preprocess
from tent.data.sets.resize import ResizedImages
from tent.models import r26
from tent.train import CrossEntropy, Recipe, train
from tent.train.domains import load_labelled, normalisation, resize
from tent.train.job import clean_error

CHOICES = {"epochs": 1, "batch": 32, "precision": "float32"}
SIZED = Recipe("r26", "cifar10", **CHOICES, size=12)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "runs" / "one"


class ForwardPass(CrossEntropy):
    """Cross-entropy that notes the shapes it sees, and may stop a run."""

    def __init__(self, stop: int = 100) -> None:
        super().__init__()
        self.stop, self.shapes = stop, []

    def __repr__(self) -> str:
        return "ForwardPass()"

    def forward(self, model, batch):
        self.shapes.append(tuple(batch.inputs.shape))
        if len(self.shapes) == self.stop:
            raise KeyboardInterrupt
        return super().forward(model, batch)


def test_every_batch_has_the_size_and_the_card_says_so(root, out):
    objective = ForwardPass()
    card = train(SIZED, out, root=root, objective=objective)
    assert objective.shapes == [(32, 3, 12, 12)] * 3
    written = json.loads((out / "card.json").read_text())
    assert (written["size"], written["recipe"]["size"]) == ([12, 12], 12)
    assert " --size 12 " in card["command"]
    assert (card["test_set"], card["test_images"]) == (load_labelled("cifar10", "test", root).name, 40)
    assert card["data_sha256"] == load_labelled("cifar10", "train", root).sha256  # of what is stored


def test_a_chosen_mean_and_deviation_are_what_the_network_sees_by(root, out):
    seen = []

    class Noted(CrossEntropy):
        def forward(self, model, batch):
            seen.append(batch.inputs)
            return super().forward(model, batch)

    card = train(replace(SIZED, mean=0.5, std=0.25, crop=0), out, root=root, objective=Noted())
    assert (card["mean"], card["std"], card["size"]) == ((0.5,) * 3, (0.25,) * 3, (12, 12))
    levels = (torch.cat(seen) * 0.25 + 0.5) * 255
    assert levels.sub(levels.round()).abs().max() < 1e-3
    assert 0 <= levels.min() < 64 < 192 < levels.max() <= 255.001
    with pytest.raises(ValueError, match=r"mean 0\.5 there, None here"):
        train(replace(SIZED, crop=0), out, root=root)


def test_mean_and_deviation_are_those_of_the_resized_images(root, out):
    card = train(SIZED, out, root=root)
    data = load_labelled("cifar10", "train", root)
    pixels = np.stack([Preprocess(size=(12, 12)).shape(image) for image in data.fetch(np.arange(len(data)))]) / 255
    np.testing.assert_allclose(card["mean"], pixels.mean((0, 1, 2)), atol=1e-6)
    np.testing.assert_allclose(card["std"], pixels.std((0, 1, 2)), atol=1e-6)
    assert not np.allclose(card["std"], normalisation(data).std, atol=1e-3)  # resizing smooths


def test_the_error_on_the_card_is_that_on_resized_test_images(root, out):
    recipe = Recipe("r26", "cifar10", epochs=25, batch=32, lr=0.05, crop=0, precision="float32", size=12)
    card = train(recipe, out, root=root)
    model = r26()
    model.load_state_dict(load_file(out / "model.safetensors"))
    test = load_labelled("cifar10", "test", root)
    normal = Preprocess(mean=card["mean"], std=card["std"])
    assert clean_error(model, ResizedImages(test, 12), normal) == card["test_error"] < 0.6  # chance is 0.9
    assert clean_error(model, test, Preprocess((12, 12), None, card["mean"], card["std"])) == card["test_error"]


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(root, out, tmp_path):
    whole = train(SIZED, tmp_path / "whole", root=root, objective=ForwardPass())
    with pytest.raises(KeyboardInterrupt):
        train(SIZED, out, root=root, objective=ForwardPass(stop=2), every=0)
    rest = ForwardPass()
    assert train(SIZED, out, root=root, objective=rest)["weights_sha256"] == whole["weights_sha256"]
    assert len(rest.shapes) == 2


def test_another_size_or_none_is_another_training(root, out):
    train(SIZED, out, root=root)
    with pytest.raises(ValueError, match=r"holds another training \(size 12 there, 10 here\)"):
        train(Recipe("r26", "cifar10", **CHOICES, size=10), out, root=root)
    with pytest.raises(ValueError, match=r"holds another training \(size 12 there, None here\)"):
        train(Recipe("r26", "cifar10", **CHOICES), out, root=root)


def test_without_a_size_neither_card_nor_checkpoint_speaks_of_one(root, out, monkeypatch):
    kept = []
    monkeypatch.setattr("tent.train.loop.save_checkpoint", lambda state, folder: kept.append(state))
    card = train(Recipe("r26", "cifar10", **CHOICES), out, root=root)
    assert "size" not in card
    assert "size" not in card["recipe"]
    assert [set(state["recipe"]) for state in kept] == [set(card["recipe"])]
    data = load_labelled("cifar10", "train", root)
    assert resize(data, None) is data
    assert normalisation(data).size is None


def test_a_folder_of_images_of_many_sizes_can_be_trained_on(out, tmp_path):
    random = np.random.default_rng(0)
    for place in range(24):
        folder = tmp_path / "photos" / "ab"[place % 2]
        folder.mkdir(parents=True, exist_ok=True)
        pixels = random.integers(0, 256, (8 + place, 30 - place, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{place}.png")
    recipe = Recipe("r26", f"folder:{tmp_path / 'photos'}", epochs=1, batch=12, precision="float32", size=16)
    objective = ForwardPass()
    card = train(recipe, out, objective=objective)
    assert objective.shapes == [(12, 3, 16, 16)] * 2
    assert (card["classes"], card["test_images"]) == (2, 24)
