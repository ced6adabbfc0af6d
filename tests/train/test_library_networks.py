"""A library's network tuned on a set: its weights are the start, its colours are kept, its last layer is new."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from command import tent
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn

from tent.data import Preprocess
from tent.models import zoo
from tent.models.cards import split_source_name, split_tuned, train_command, tuned_name
from tent.models.entry import Entry
from tent.models.libraries import LIBRARIES
from tent.train import Recipe, train
from tent.train.domains import load_labelled
from tent.train.job import clean_error

COLOURS = {"mean": (0.5, 0.4, 0.3), "std": (0.5, 0.25, 0.2)}
RECIPE = Recipe("tiny:net", "pacs-photo", epochs=2, batch=16, lr=0.01, crop=2, precision="float32", size=12)


class Net(nn.Module):
    """A network as a library has it: batch norm, dropout, and a classifier of a thousand."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.drop, self._fc = nn.Dropout(0.1), nn.Linear(8, 1000)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"logits": self._fc(self.drop(self.bn(self.conv(x)).relu().mean((2, 3))))}


def load_tiny(name: str, pretrained: bool) -> Entry:
    if name != "net":
        raise ValueError(f"tiny has no model {name!r}")
    model = Net()
    if pretrained:
        with torch.no_grad():
            for number, parameter in enumerate(model.parameters()):
                parameter.copy_(torch.linspace(-1, 1, parameter.numel()).view_as(parameter).roll(number))
    return Entry(f"tiny:{name}", model, Preprocess(14, 12, **COLOURS), 1000)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A data folder with small photographs whose colour tells their class."""
    monkeypatch.setitem(LIBRARIES, "tiny", load_tiny)
    monkeypatch.setenv("TENT_DATA", str(tmp_path / "data"))
    random = np.random.default_rng(0)
    for label, name in enumerate(("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")):
        folder = tmp_path / "data" / "pacs" / "photo" / name
        folder.mkdir(parents=True)
        for number in range(10):
            pixels = random.integers(0, 40, (16, 14, 3)) + 30 * label
            Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number}.png")
    return tmp_path / "data"


def test_it_starts_from_the_librarys_weights_with_a_new_last_layer_and_keeps_its_colours(root, tmp_path):
    slow = replace(RECIPE, lr=1e-9)
    card = train(slow, tmp_path / "out", root=root)
    theirs, ours = load_tiny("net", True).model.state_dict(), load_file(tmp_path / "out" / "model.safetensors")
    torch.testing.assert_close(ours["conv.weight"], theirs["conv.weight"])
    assert ours["_fc.weight"].shape == (7, 8)
    assert (card["mean"], card["std"], card["size"]) == (*COLOURS.values(), (12, 12))
    assert (card["model"], card["classes"], card["class_names"][0]) == ("tiny:net", 7, "dog")
    assert card["training"]["start"].startswith("tiny:net, sha256 ")
    assert card["recipe"]["start"].startswith("tiny:net ")
    assert "--start" not in card["command"]
    assert (card["training"]["source_images"], card["test_images"]) == (63, 7)


def test_the_zoo_finds_it_again_with_the_error_on_its_card(root):
    recipe = replace(RECIPE, epochs=40, lr=0.05)
    card = train(recipe, root / "models" / "tuned", root=root)
    entry = zoo.load("trained:tuned")
    assert (entry.classes, entry.preprocess) == (7, Preprocess((12, 12), None, **COLOURS))
    error = clean_error(entry.model, load_labelled("pacs-photo", "test", root), entry.preprocess)
    assert error == card["test_error"] < 0.5  # chance is 6 of 7


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(root, tmp_path, monkeypatch):
    whole = train(RECIPE, tmp_path / "whole", root=root)
    forward, calls = Net.forward, []

    def stop(self, x):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return forward(self, x)

    with monkeypatch.context() as patched:
        patched.setattr(Net, "forward", stop)
        with pytest.raises(KeyboardInterrupt):
            train(RECIPE, tmp_path / "out", root=root, every=0)
    monkeypatch.setattr("tent.data.sets.resize.MOST", 0)  # read batch by batch is the same
    assert train(RECIPE, tmp_path / "out", root=root)["weights_sha256"] == whole["weights_sha256"]


def test_other_weights_of_the_library_are_another_training(root, tmp_path, monkeypatch):
    train(RECIPE, tmp_path / "out", root=root)
    with pytest.raises(ValueError, match=r"holds another training \(start tiny:net \w+ there,  here\)"):
        train(RECIPE, tmp_path / "out", root=root, start="random")
    monkeypatch.setitem(LIBRARIES, "tiny", lambda name, pretrained: load_tiny(name, False))
    with pytest.raises(ValueError, match=r"holds another training \(start tiny:net .* there, tiny:net "):
        train(RECIPE, tmp_path / "out", root=root)


def test_a_file_of_weights_may_be_the_librarys_or_ones_own(root, tmp_path):
    slow = replace(RECIPE, lr=1e-9)
    save_file(load_tiny("net", True).model.state_dict(), tmp_path / "theirs.safetensors")
    own = train(slow, tmp_path / "own", root=root)
    card = train(slow, tmp_path / "theirs", root=root, start=tmp_path / "theirs.safetensors")
    assert card["weights_sha256"] == own["weights_sha256"]
    assert card["command"].endswith("--start FILE --out FOLDER")
    first, again = tmp_path / "own" / "model.safetensors", tmp_path / "again"
    train(slow, again, root=root, start=first)
    torch.testing.assert_close(load_file(again / "model.safetensors")["_fc.weight"], load_file(first)["_fc.weight"])
    save_file({"conv.weight": torch.zeros(8, 3, 3, 3)}, tmp_path / "few.safetensors")
    with pytest.raises(ValueError, match=r"few.safetensors: not weights of tiny:net for 7 classes"):
        train(slow, tmp_path / "few", root=root, start=tmp_path / "few.safetensors")
    random = train(slow, tmp_path / "random", root=root, start="random")
    assert random["training"]["start"] == "random weights"
    assert " --start random " in random["command"]


def test_what_is_no_network_or_does_not_classify_is_said(root, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="tiny has no model 'other'"):
        train(replace(RECIPE, model="tiny:other"), tmp_path / "out", root=root)
    with pytest.raises(ValueError, match=r"no network 'small:net'; there are r26, .*, and a library's, as timm:NAME"):
        train(replace(RECIPE, model="small:net"), tmp_path / "out", root=root)
    dense = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 19, 1))
    monkeypatch.setitem(LIBRARIES, "tiny", lambda name, pretrained: Entry(name, dense, Preprocess(**COLOURS), 19))
    with pytest.raises(ValueError, match=r"the network answers with \(16, 7, 10, 10\), not with one class an image"):
        train(RECIPE, tmp_path / "out", root=root, start="random")
    monkeypatch.setitem(LIBRARIES, "tiny", lambda name, pretrained: Entry(name, nn.Conv2d(3, 4, 3), Preprocess()))
    with pytest.raises(ValueError, match=r"Conv2d: its last layer is .*, which is no classifier to be replaced"):
        train(RECIPE, tmp_path / "out", root=root, start="random")


def test_its_name_says_how_it_is_trained():
    assert tuned_name("timm:resnet50", "visda-c") == "timm-resnet50-visda-c"
    assert split_tuned("timm-resnet50-visda-c") == ("timm:resnet50", "visda-c")
    assert train_command("timm-resnet50-visda-c") == "tent train --model timm:resnet50 --source visda-c"
    assert split_tuned("rg-svhn-mnist") is split_tuned("timm-resnet50") is None
    assert split_source_name("hf:someone/r26-cifar10") is split_source_name("timm:resnet50-cifar10") is None


def test_the_command_has_defaults_for_it_and_a_place(root):
    words = ("--source", "pacs-photo", "--start", "random", "--size", "32", "--precision", "float32", "--epochs", "1")
    placeless = tent(root.parent, "train", "--model", "timm:test_efficientnet", *words)
    assert placeless.stderr.startswith("tent: --start random: name a folder for a network with another start")
    folder = root / "models" / "timm-test_efficientnet-pacs-photo"
    ran = tent(root.parent, "train", "--model", "timm:test_efficientnet", *words, "--out", str(folder))
    assert ran.returncode == 0, ran.stderr
    card = json.loads((folder / "card.json").read_text())
    recipe = card["recipe"]
    assert (recipe["batch"], recipe["lr"], recipe["crop"], recipe["epochs"], recipe["flip"]) == (32, 0.01, 16, 1, True)
    assert ran.stdout.startswith(f"{folder}: error {card['test_error']:.2%} on pacs-photo test")
    assert zoo.load("trained:timm-test_efficientnet-pacs-photo").model(torch.zeros(2, 3, 32, 32)).shape == (2, 7)
    refused = tent(root.parent, "train", "--model", "timm:test_efficientnet", *words, "--method", "ttt")
    assert refused.stderr == "tent: --method ttt: a library's network is trained by source alone; ttt takes r26\n"
    absent = tent(root.parent, "train", "--model", "timm:none", *words, "--out", str(root / "none"))
    assert absent.stderr == "tent: timm has no model 'none'; timm.list_models() names them\n"
