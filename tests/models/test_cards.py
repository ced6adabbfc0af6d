"""`trained:NAME` and `trained:FOLDER`: what `tent train` has left is a model of the zoo, or one clear line."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from command import tent

from tent.models import cards, zoo
from tent.models.cards import train_command
from tent.train import Recipe, run_folder, train
from tent.train.baseline import BASELINES, make_objective, model_name


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a trained RG among its models, and a trained TTT elsewhere."""
    root = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(0)
    for name in ("cifar10", "usps"):
        (root / name).mkdir()
        for split in ("train", "test"):
            np.save(root / name / f"{split}_images.npy", random.integers(0, 256, (20, 8, 8, 3), np.uint8))
            np.save(root / name / f"{split}_labels.npy", np.arange(20) % 10)
    made = {"epochs": 1, "batch": 10, "crop": 0, "precision": "float32"}
    recipe = Recipe("r26", "cifar10", target="usps", size=12, **made)
    train(recipe, root / "models" / "rg-cifar10-usps", objective=make_objective("rg"), root=root)
    train(Recipe("r26-rotation", "cifar10", **made), root / "mine" / "run", objective=make_objective("ttt"), root=root)
    return root


@pytest.fixture
def root(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(trained, tmp_path / "data")
    monkeypatch.setenv("TENT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_a_name_is_found_among_the_data_folders_models(root: Path) -> None:
    entry = zoo.load("trained:rg-cifar10-usps")
    assert entry.name == "trained:rg-cifar10-usps"
    assert not entry.model.training
    assert (entry.classes, entry.preprocess.size) == (10, (12, 12))
    assert entry.weights.startswith("trained, sha256 ")
    assert entry.training is not None
    assert (entry.training["method"], entry.training["target"], entry.training["epochs"]) == ("rg", "usps train", 1)
    assert entry.training["forward"] == entry.training["backward"] == 2 * 20
    assert zoo.load("r26-cifar10").training is None  # a source model, as all


def test_a_folder_of_ones_own(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    for where in ("mine/run", "./mine/run", str(root / "mine" / "run")):
        entry = zoo.load(f"trained:{where}")
        assert entry.model(torch.zeros(2, 3, 8, 8), head="rotation").shape == (2, 4)
        assert entry.training is not None
        assert entry.training["method"] == "ttt"


def test_the_files_are_those_that_a_training_writes() -> None:
    assert (cards.WEIGHTS, cards.CARD, cards.CHECKPOINT) == (run_folder.WEIGHTS, run_folder.CARD, run_folder.CHECKPOINT)


def test_other_weights_have_another_training(root: Path) -> None:
    path = root / "models" / "rg-cifar10-usps" / "model.safetensors"
    entry = zoo.load("trained:rg-cifar10-usps", path)
    assert (entry.weights, entry.training) == ("model.safetensors", None)


def test_it_can_be_adapted(root: Path, tmp_path: Path) -> None:
    ran = tent(tmp_path, "adapt", "trained:rg-cifar10-usps", "usps", "--batch", "10", "--out", "out")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out" / "summary.json").is_file()


def test_what_is_not_there_is_one_line_with_the_command_that_makes_it(root: Path) -> None:
    ran = tent(root, "adapt", "trained:uda-ss-svhn-mnist-m", "usps")
    assert ran.returncode == 2
    assert ran.stderr == (
        "tent: trained:uda-ss-svhn-mnist-m: there is no such training, neither a folder nor in "
        f"{root / 'models'}; make it with: tent train --model r26 --method uda-ss --source svhn --target mnist-m"
        " --epochs 10 --lr 0.05 --crop 2 --start r26-svhn\n"
    )
    with pytest.raises(FileNotFoundError, match=r"mine is no folder of a training; it has no card\.json"):
        zoo.load(f"trained:{root / 'mine'}")
    shutil.move(root / "mine/run/card.json", root / "mine/run/checkpoint.pt")
    with pytest.raises(FileNotFoundError, match="has not ended; run its `tent train` command again to continue it"):
        zoo.load(f"trained:{root / 'mine/run'}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, r"card.json: not a card \(.*\); train it again"),
        ([1], "card.json: not a card; train it again"),
        ({"model": "r27"}, r"not a card of a network that is known here \(.*no network 'r27'.*\); train it again"),
        ({"classes": "ten"}, "not a card of a network that is known here"),
        ({"training": 3}, "not a card of a network that is known here"),
        ({"classes": 9}, r"not the weights of trained:.*: fc.bias is \(10,\) there, \(9,\) in the model"),
        ({"weights_sha256": "ab"}, "model.safetensors: its hash is .*, not ab as on its card; train it again"),
    ],
)
def test_a_card_that_is_damaged_is_one_line(root: Path, change: object, message: str) -> None:
    path = root / "models" / "rg-cifar10-usps" / "card.json"
    card = json.loads(path.read_text())
    changed = {**card, **change} if isinstance(change, dict) else change
    path.write_text('{"model": "r2' if change is None else json.dumps(changed))
    with pytest.raises(ValueError, match=message) as told:
        zoo.load("trained:rg-cifar10-usps")
    assert "\n" not in str(told.value)


def test_weights_that_are_damaged_or_gone_are_one_line(root: Path) -> None:
    path = root / "models" / "rg-cifar10-usps" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"model\.safetensors: not a whole file of weights"):
        zoo.load("trained:rg-cifar10-usps")
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors: there is no such file of weights"):
        zoo.load("trained:rg-cifar10-usps")


@pytest.mark.parametrize(
    ("method", "source", "target", "network"),
    [
        ("rg", "svhn", "mnist", "r26"),
        ("uda-ss", "svhn", "mnist-m", "r26"),
        ("rg", "mnist-m", "svhn:test", "r26"),
        ("uda-ss", "cifar10", "cifar10-c:gaussian_noise:5", "r26"),
        ("ttt", "cifar10", "", "r26"),
        ("ttt", "cifar10", "", "r26-gn"),
    ],
)
def test_a_name_tells_the_command_that_it_comes_from(method: str, source: str, target: str, network: str) -> None:
    words = train_command(model_name(method, source, target, network)).split()
    given = dict(zip(words[2::2], words[3::2], strict=True))
    assert (given["--method"], given["--source"], given["--model"]) == (method, source, network)
    assert given.get("--target", "") == target
    assert given.get("--size") == ("32" if (source, target) == ("svhn", "mnist") else None)
    assert method in BASELINES


@pytest.mark.parametrize(
    "name", ["mine", "rg-nowhere-mnist", "rg-svhn", "rg-svhn-mnist-r26-gn", "ttt-cifar10-wrn-40-2"]
)
def test_a_name_that_does_not_tell_leaves_it_open(name: str) -> None:
    assert train_command(name) == "tent train --method METHOD --out FOLDER"


def test_the_command_of_a_table_has_its_recipe() -> None:
    assert train_command("r26-gn-cifar10").startswith(
        "tent train --model r26-gn --source cifar10 --epochs 24 --lr 0.1 "
    )
    assert train_command("ttt-cifar10") == (
        "tent train --model r26 --method ttt --source cifar10 --epochs 3 --lr 0.05 --start r26-cifar10"
    )
