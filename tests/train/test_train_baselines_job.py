"""Whole trainings of the baselines: their cards, warm starts, and what is refused before anything is written."""

import json

import numpy as np
import pytest
import torch
from madeset import write_set
from safetensors.torch import load_file

from tent.data import Preprocess
from tent.models import NETWORKS, r26
from tent.train import RG, TTT, UDASS, CrossEntropy, Recipe, train
from tent.train.domains import load_labelled
from tent.train.job import clean_error

CHOICES = {"epochs": 2, "batch": 32, "precision": "float32"}


def recipe(model="r26", **choices):
    return Recipe(model, "cifar10", **{**CHOICES, **choices})


@pytest.fixture
def out(tmp_path):
    return tmp_path / "runs" / "one"


@pytest.mark.parametrize(("make", "method", "passed"), [(RG, "rg", 384), (UDASS, "uda-ss", 432)])
def test_the_card_tells_both_domains_and_the_compute(root, out, target, make, method, passed):
    card = train(recipe(target=target), out, objective=make(), root=root)
    mnist = load_labelled("mnist", "train", root)
    assert card["training"] == {
        "method": method,
        "source": "cifar10 train",
        "source_images": 96,
        "target": "mnist train",
        "target_images": 20,
        "target_sha256": mnist.sha256,
        "epochs": 2,
        "start": "random weights",
        "seconds": card["seconds"],
        "forward": passed,  # 2 epochs of 96 images, at 2 or 2.25 each
        "backward": passed,
    }
    assert card["recipe"]["target"] == "mnist"
    assert card["command"].startswith(f"tent train --method {method} --source cifar10 --model r26 ")
    assert " --target mnist " in card["command"]
    assert json.loads((out / "card.json").read_text())["training"] == card["training"]


def test_the_error_on_the_target_is_that_of_the_weights_on_its_test_split(root, out, target):
    card = train(recipe(target=target), out, objective=RG(), root=root)
    model = r26()
    model.load_state_dict(load_file(out / "model.safetensors"))
    test = load_labelled("mnist", "test", root)
    assert clean_error(model, test, Preprocess(mean=card["mean"], std=card["std"])) == card["target_error"]
    assert (card["target_test_images"], card["target_test_set"]) == (40, test.name)


def test_a_target_without_labels_is_learnt_from_and_not_measured(root, out, tmp_path):
    np.save(tmp_path / "images.npy", np.load(root / "cifar10" / "test_images.npy"))
    card = train(recipe(target=f"npy:{tmp_path / 'images.npy'}"), out, objective=UDASS(), root=root)
    assert "target_error" not in card
    assert (card["training"]["target"], card["training"]["target_images"]) == ("npy images.npy", 40)


def test_plain_training_says_how_it_was_made_and_nothing_of_a_target(root, out):
    card = train(recipe(), out, root=root)
    assert card["training"] == {
        "method": "source",
        "source": "cifar10 train",
        "source_images": 96,
        "epochs": 2,
        "start": "random weights",
        "seconds": card["seconds"],
        "forward": 192,
        "backward": 192,
    }
    assert not any("target" in name for name in [*card, *card["recipe"]])


def test_a_card_without_such_words_still_belongs_to_its_recipe(root, out):
    card = train(recipe(), out, root=root)
    written = json.loads((out / "card.json").read_text())
    del written["training"]
    (out / "card.json").write_text(json.dumps(written))
    assert train(recipe(), out, root=root)["weights_sha256"] == card["weights_sha256"]


def test_another_way_or_another_target_is_another_training(root, out, target):
    write_set(root / "usps", channels=1, seed=7)
    train(recipe(target=target), out, objective=RG(), root=root)
    with pytest.raises(
        ValueError, match=r"holds another training \(objective RG\(hidden=100\) there, UDASS\(\) here\)"
    ):
        train(recipe(target=target), out, objective=UDASS(), root=root)
    with pytest.raises(ValueError, match=r"holds another training \(target mnist there, usps here; target_sha256"):
        train(recipe(target="usps"), out, objective=RG(), root=root)
    np.save(root / "mnist" / "train_images.npy", np.zeros((20, 8, 8), dtype=np.uint8))
    with pytest.raises(ValueError, match=r"holds another training \(target_sha256 "):
        train(recipe(target=target), out, objective=RG(), root=root)


def test_both_domains_are_resized_where_a_size_is_given(root, out):
    write_set(root / "mnist", train=20, side=6, channels=1)
    with pytest.raises(
        ValueError, match=r"mnist train.* has images of 6x6, cifar10 train.* of 8x8; --size 8 resizes them"
    ):
        train(recipe(target="mnist"), out, objective=RG(), root=root)
    assert not out.exists()
    card = train(recipe(target="mnist", size=8), out, objective=RG(), root=root)
    assert card["size"] == (8, 8)
    model = r26()
    model.load_state_dict(load_file(out / "model.safetensors"))
    preprocess = Preprocess((8, 8), None, card["mean"], card["std"])
    assert clean_error(model, load_labelled("mnist", "test", root), preprocess) == card["target_error"]


@pytest.mark.parametrize("network", ["r26", "r26-gn"])
def test_the_branch_starts_where_a_trained_classifier_is(root, tmp_path, network):
    first = train(recipe(network, epochs=1), tmp_path / "plain", root=root)
    start = tmp_path / "plain" / "model.safetensors"
    slow = recipe(f"{network}-rotation", epochs=1, lr=1e-9)
    card = train(slow, tmp_path / "ttt", objective=TTT(), start=start, root=root)
    assert card["training"]["start"] == f"model.safetensors, sha256 {first['weights_sha256'][:12]}"
    assert card["started_from"]["weights_sha256"] == first["weights_sha256"]
    before, after = load_file(start), load_file(tmp_path / "ttt" / "model.safetensors")
    for name in ("stage3.0.conv1.weight", "stage3.3.conv2.weight", "fc.weight"):
        torch.testing.assert_close(after[name], before[name])
    for name in ("0.conv1.weight", "3.conv2.weight"):
        torch.testing.assert_close(after[f"rotation.stages.0.{name}"], before[f"stage3.{name}"])
    again = train(slow, tmp_path / "again", objective=TTT(), start=tmp_path / "ttt" / "model.safetensors", root=root)
    weights = load_file(tmp_path / "again" / "model.safetensors")
    torch.testing.assert_close(weights["rotation.fc.weight"], after["rotation.fc.weight"])
    assert again["training"]["method"] == "ttt"


def test_a_shipped_model_is_a_start_by_its_name(root, tmp_path, target):
    slow = recipe(epochs=1, lr=1e-9, target=target)
    card = train(slow, tmp_path / "one", objective=RG(), start="r26-cifar10", root=root)
    assert card["training"]["start"].startswith("r26-cifar10, sha256 ")
    assert card["recipe"]["start"] == card["started_from"]["weights_sha256"]
    with pytest.raises(FileNotFoundError, match="r26-cifar11: no such file of weights; name one, or r26-cifar10"):
        train(slow, tmp_path / "two", objective=RG(), start="r26-cifar11", root=root)


@pytest.mark.parametrize(
    ("objective", "choices", "line"),
    [
        (RG(), {}, "rg learns from a target too: name one, such as --target mnist"),
        (UDASS(), {}, "uda-ss learns from a target too"),
        (CrossEntropy(), {"target": "mnist"}, "source learns from the source alone: leave out the target 'mnist'"),
        (TTT(), {"target": "mnist", "model": "r26-rotation"}, "ttt learns from the source alone"),
        (RG(), {"target": "nowhere"}, "no set is called 'nowhere'"),
        (RG(), {"target": "svhn"}, "svhn.*get it with: tent data get svhn"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused_before_anything_is_written(root, out, target, objective, choices, line):
    with pytest.raises((ValueError, OSError), match=line):
        train(recipe(**choices), out, objective=objective, root=root)
    assert not out.exists()


def test_a_source_of_one_class_is_refused(root, out):
    np.save(root / "cifar10" / "train_labels.npy", np.full(96, 3))
    for objective in (CrossEntropy(), TTT()):
        with pytest.raises(
            ValueError, match=r"cifar10 train.*: all labels are alike; training needs images of at least two"
        ):
            train(recipe("r26-rotation"), out, objective=objective, root=root)
    assert not out.exists()


def test_images_that_cannot_be_turned_or_quartered_are_refused_before_anything_is_written(root, out, target):
    with pytest.raises(ValueError, match=r"images of 7x7: uda-ss .* of an even side; --size 6 makes them so"):
        train(recipe(target=target, size=7), out, objective=UDASS(), root=root)
    np.save(root / "cifar10" / "train_images.npy", np.zeros((96, 8, 6, 3), dtype=np.uint8))
    with pytest.raises(ValueError, match=r"images of 8x6: uda-ss turns them .* must be square .*; --size 6 makes"):
        train(recipe(target=target), out, objective=UDASS(), root=root)
    with pytest.raises(ValueError, match=r"images of 8x6: ttt turns them by quarters, .*; --size 6 makes them so"):
        train(recipe("r26-rotation"), out, objective=TTT(), root=root)
    assert not out.exists()


def test_every_network_with_a_branch_has_the_one_without():
    branched = [name for name in NETWORKS if name.endswith("-rotation")]
    assert branched
    assert all(name.removesuffix("-rotation") in NETWORKS for name in branched)
