"""A whole training: its card, its folder, and what it refuses."""

import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tent.data import Preprocess
from tent.models import r26
from tent.train import Recipe, train
from tent.train.domains import load_labelled
from tent.train.job import clean_error
from tent.train.run_folder import lock_run

RECIPE = Recipe("r26", "cifar10", epochs=1, batch=32, precision="float32")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "runs" / "one"


def test_the_card_says_what_the_weights_are(root, out, capsys):
    card = train(RECIPE, out, root=root)
    assert card == json.loads((out / "card.json").read_text()) | {k: card[k] for k in ("mean", "std", "class_names")}
    assert card["weights_sha256"] == hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()
    assert card["recipe"]["epochs"] == 1
    assert card["command"].startswith("tent train --model r26 --data cifar10")
    assert (card["classes"], card["objective"]) == (10, "CrossEntropy()")
    assert card["seconds"] > 0
    assert [entry["torch"] for entry in card["versions"]] == [torch.__version__]
    assert re.fullmatch(r"none|[0-9a-f]{40}(-dirty)?", card["versions"][0]["commit"])
    assert card["data_sha256"] == load_labelled("cifar10", "train", root).sha256 != card["test_sha256"]
    assert sorted(path.name for path in out.iterdir()) == [".lock", "card.json", "model.safetensors"]
    assert "epoch 1/1: loss" in capsys.readouterr().err
    (out / "beside").touch()  # weights are for whoever may read any other file there
    assert (out / "model.safetensors").stat().st_mode == (out / "beside").stat().st_mode


def test_the_weights_alone_give_the_error_on_the_card(root, out):
    card = train(RECIPE, out, root=root)
    model = r26()
    model.load_state_dict(load_file(out / "model.safetensors"))
    test = load_labelled("cifar10", "test", root)
    assert {tensor.dtype for tensor in model.parameters()} == {torch.float32}
    assert clean_error(model, test, Preprocess(mean=card["mean"], std=card["std"])) == card["test_error"]
    assert card["test_images"] == len(test)


def test_a_finished_training_is_left_as_it_is(root, out):
    first = train(RECIPE, out, root=root)
    before = [(path.name, path.stat().st_mtime_ns) for path in sorted(out.glob("[!.]*"))]
    assert train(RECIPE, out, root=root)["weights_sha256"] == first["weights_sha256"]
    assert [(path.name, path.stat().st_mtime_ns) for path in sorted(out.glob("[!.]*"))] == before


def test_a_set_that_can_be_learned_is_learned(root, out):
    recipe = Recipe("r26", "cifar10", epochs=25, batch=32, lr=0.05, crop=0, precision="float32")
    assert train(recipe, out, root=root)["test_error"] < 0.6  # chance is 0.9


def test_a_second_training_may_start_from_the_weights_of_a_first(root, out, tmp_path):
    first = train(RECIPE, out, root=root)
    slow = Recipe("r26", "cifar10", epochs=1, batch=32, lr=1e-9, precision="float32")
    second = train(slow, tmp_path / "second", root=root, start=out / "model.safetensors")
    assert second["recipe"]["start"] == first["weights_sha256"]
    assert second["command"].endswith("--start FILE --out FOLDER")
    assert second["started_from"]["weights_sha256"] == first["weights_sha256"]
    before, after = (load_file(folder / "model.safetensors") for folder in (out, tmp_path / "second"))
    torch.testing.assert_close(after["conv.weight"], before["conv.weight"])
    with pytest.raises(ValueError, match=r"holds another training \(start"):
        train(slow, tmp_path / "second", root=root)


def test_weights_go_on_with_the_mean_and_deviation_that_they_learnt_with(root, out, tmp_path):
    train(replace(RECIPE, mean=0.5, std=0.25), out, root=root)
    start = out / "model.safetensors"
    same = train(RECIPE, tmp_path / "same", root=root, start=start)
    assert (same["mean"], same["std"]) == ((0.5,) * 3, (0.25,) * 3)
    other = train(replace(RECIPE, mean=0.4, std=0.3), tmp_path / "other", root=root, start=start)
    assert (other["mean"], other["std"]) == ((0.4,) * 3, (0.3,) * 3)


def test_weights_of_another_network_are_refused(root, out, tmp_path):
    train(RECIPE, out, root=root)
    wide = Recipe("wrn-40-2", "cifar10", epochs=1, batch=32, precision="float32")
    with pytest.raises(ValueError, match=r"model.safetensors: not the weights of wrn-40-2 for 10 classes: it lacks"):
        train(wide, tmp_path / "second", root=root, start=out / "model.safetensors")
    with pytest.raises(FileNotFoundError):
        train(RECIPE, tmp_path / "third", root=root, start=tmp_path / "none.safetensors")


def test_another_recipe_is_refused_and_nothing_changes(root, out):
    train(RECIPE, out, root=root)
    before = (out / "card.json").read_bytes()
    with pytest.raises(ValueError, match=r"one holds another training \(seed 0 there, 1 here\); choose another folder"):
        train(Recipe("r26", "cifar10", epochs=1, batch=32, precision="float32", seed=1), out, root=root)
    assert (out / "card.json").read_bytes() == before


def test_other_data_under_the_same_name_is_refused(root, out):
    train(RECIPE, out, root=root)
    path = root / "cifar10" / "train_images.npy"
    np.save(path, np.load(path) + np.uint8(1))
    with pytest.raises(ValueError, match=r"data_sha256 .* there, .* here"):
        train(RECIPE, out, root=root)


def test_a_folder_with_someone_elses_weights_is_refused(root, out):
    out.mkdir(parents=True)
    (out / "model.safetensors").write_bytes(b"mine")
    with pytest.raises(ValueError, match=r"model.safetensors: weights without a card"):
        train(RECIPE, out, root=root)
    assert (out / "model.safetensors").read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["checkpoint.pt", "card.json"])
def test_a_broken_file_is_named(root, out, name):
    out.mkdir(parents=True)
    (out / name).write_bytes(b"not what it should be")
    with pytest.raises(ValueError, match=f"{name}: not a c"):
        train(RECIPE, out, root=root)


def test_a_second_run_in_the_same_folder_is_kept_out(root, out):
    with lock_run(out), pytest.raises(OSError, match="another training is under way"):
        train(RECIPE, out, root=root)


def test_what_is_missing_is_named(root, out):
    with pytest.raises(ValueError, match=r"no network 'r27'; there are r26, r26w2, .*wrn-40-2"):
        train(Recipe("r27", "cifar10"), out, root=root)
    with pytest.raises(OSError, match="mnist"):
        train(Recipe("r26", "mnist"), out, root=root)
    (root / "cifar10" / "train_labels.npy").unlink()
    with pytest.raises((ValueError, OSError), match="train_labels"):
        train(RECIPE, out, root=root)
    assert not out.exists()
