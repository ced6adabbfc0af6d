"""`tent train` on networks of other kinds, at a width, and what it leaves in the zoo."""

import json

import numpy as np
import pytest
from command import tent

from tent.models import SCALED, zoo
from tent.models.cards import split_source_name, train_command


@pytest.fixture
def root(tmp_path, monkeypatch):
    (tmp_path / "cifar10").mkdir()
    for split in ("train", "test"):
        images = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), np.uint8)
        np.save(tmp_path / "cifar10" / f"{split}_images.npy", images)
        np.save(tmp_path / "cifar10" / f"{split}_labels.npy", np.arange(4))
    monkeypatch.setenv("TENT_DATA", str(tmp_path))
    return tmp_path


def train(root, network, *more):
    options = {"source": "cifar10", "epochs": "1", "batch": "4", "precision": "float32", "lr": "0.01", "device": "cpu"}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return tent(root, "train", "--model", network, *words, *more)


@pytest.mark.filterwarnings("ignore:the equilibrium of an image was not found")  # after four images
@pytest.mark.parametrize("network", SCALED)
def test_it_is_trained_at_a_width_and_found_in_the_zoo(root, network):
    name = f"{network}-w0.25"
    ran = train(root, network, "--width", "0.25", "--out", f"models/{name}-cifar10")
    assert ran.returncode == 0, ran.stderr
    entry = zoo.load(f"{name}-cifar10")
    assert entry.classes == 10
    card = json.loads((root / "models" / f"{name}-cifar10" / "card.json").read_text())
    assert f"--model {name} " in card["command"]
    assert ("largest_residual" in card) == (network == "mdeq")
    if network == "mdeq":
        images = np.load(root / "cifar10" / "test_images.npy")
        x = entry.preprocess(images)
        entry.model.eval()(x)  # what its search ends with; `residual` looks at the state that the search returns
        assert card["largest_residual"] == pytest.approx(entry.model.last_residual, rel=0.01)


def test_a_name_with_a_width_is_taken_apart_and_says_how_it_is_trained():
    assert split_source_name("san10-pair-w0.25-cifar100") == ("san10-pair-w0.25", "cifar100")
    assert split_source_name("vit-cifar-cifar100") == ("vit-cifar", "cifar100")
    assert split_source_name("r26-gn-mnist-m") == ("r26-gn", "mnist-m")
    assert split_source_name("r26-w2-cifar100") is None
    assert train_command("mdeq-w0.25-cifar100").startswith("tent train --model mdeq-w0.25 --source cifar100 --out ")


@pytest.mark.parametrize(
    ("network", "width", "line"),
    [
        (
            "r26",
            "2",
            "r26 has one width; those with a choice are san10-pair, san10-patch, mdeq, vit-cifar, convnext-cifar",
        ),
        ("san10-pair", "0.3", "width 0.3: a SAN's is a multiple of 0.25, such as 0.25, 0.5 or 1"),
        ("mdeq", "-1", "width must be above 0, not -1.0"),
    ],
)
def test_a_wrong_width_is_one_line(root, network, width, line):
    ran = train(root, network, "--width", width, "--out", "run")
    assert (ran.returncode, ran.stderr.strip()) == (2, f"tent: {line}")


@pytest.mark.parametrize(
    ("network", "line"),
    [
        ("vit-cifar", "images of 28x28: vit-cifar takes 32x32; resize them with --size 32"),
        ("mdeq", "images of 28x28 do not halve 3 times; resize them to multiples of 8, such as --size 32"),
    ],
)
def test_images_of_another_side_are_one_line(root, network, line):
    for split in ("train", "test"):
        np.save(root / "cifar10" / f"{split}_images.npy", np.zeros((4, 28, 28, 3), np.uint8))
    ran = train(root, network, "--width", "0.25", "--out", "run")
    assert (ran.returncode, ran.stderr.strip().splitlines()[-1]) == (2, f"tent: {line}")
