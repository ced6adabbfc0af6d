"""Public models: fetched once from where they were published, checked, and as good as their authors say."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from real_sets import folder_or_skip

from tent.data import Stream, load
from tent.data.order import Stored
from tent.data.sets.arrays import ArrayImages
from tent.evaluate import evaluate
from tent.models import DenseNet, public, zoo
from tent.models.public import PUBLIC, weights_folder
from tent.tasks import Classification
from tent.train.domains import read_pixels

SHARED = Path(__file__).resolve().parents[3] / "shared" / "models"
NAME = "densenet-cifar10"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file as it is published, of random weights, at an address on this machine."""
    path = tmp_path / "checkpoint_100.pth.tar"
    torch.save({"epoch": 100, "state_dict": DenseNet().state_dict()}, path)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    file = replace(PUBLIC[NAME].file, url=path.as_uri(), bytes=path.stat().st_size, sha256=sha256)
    monkeypatch.setitem(public.PUBLIC, NAME, replace(PUBLIC[NAME], file=file))
    return path


def test_densenet_has_the_published_size_and_99_norms() -> None:
    model = DenseNet()
    assert sum(p.numel() for p in model.parameters()) == 769_162
    assert sum(isinstance(each, torch.nn.BatchNorm2d) for each in model.modules()) == 99
    assert DenseNet(depth=16, growth=4, classes=7)(torch.rand(2, 3, 16, 16)).shape == (2, 7)
    with pytest.raises(ValueError, match=r"depth 99: a DenseNet-BC has 6 n \+ 4 layers"):
        DenseNet(depth=99)


def test_weights_are_fetched_once_and_loaded(published: Path) -> None:
    entry = zoo.load(NAME)
    assert (entry.classes, len(entry.class_names or ()), entry.model.training) == (10, 10, False)
    assert entry.preprocess.mean == pytest.approx((0.49137, 0.48235, 0.44667), abs=1e-5)
    assert entry.preprocess.std == pytest.approx((0.24706, 0.24353, 0.26157), abs=1e-5)
    assert entry.weights.startswith("deeplearning-wisc/dice (MIT), sha256 ")
    published.unlink()
    again = zoo.load(NAME)
    assert torch.equal(again.model.fc.weight, entry.model.fc.weight)  # type: ignore[arg-type, union-attr]
    assert (weights_folder() / f"{NAME}.pth").is_file()


def test_another_file_than_the_published_is_refused(published: Path) -> None:
    weights_folder().mkdir(parents=True)
    size = published.stat().st_size
    (weights_folder() / f"{NAME}.pth").write_bytes(b"\0" * size)
    with pytest.raises(ValueError, match=r"its sha256 is .* was published; delete it, and it is fetched again"):
        zoo.load(NAME)


def test_without_a_network_it_says_where_to_put_the_file(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tent.data.fetch.download.ATTEMPTS", 1)
    published.unlink()
    with pytest.raises(OSError, match=rf"With a network try again, or put .*checkpoint_100.pth.tar there as .*{NAME}"):
        zoo.load(NAME)
    assert zoo.load(NAME, pretrained=False).weights == "none: drawn at random"


@pytest.mark.real_data
@pytest.mark.parametrize(("source", "error", "images"), [("cifar10", 0.065, 200), ("cifar100", 0.222, 200)])
def test_the_clean_error_is_the_published_models(source: str, error: float, images: int, real_data: Path) -> None:
    name = f"densenet-{source}"
    if not (SHARED / f"{name}.pth").is_file():
        pytest.skip("the public weights are not there: no shared/models beside the checkout")
    folder_or_skip(real_data, source)
    weights_folder().mkdir(parents=True)
    shutil.copy(SHARED / f"{name}.pth", weights_folder())
    entry, test = zoo.load(name), load(source, "test", real_data)
    assert test.labels is not None
    part = ArrayImages(test.name, read_pixels(test, np.arange(images)), test.labels[:images], test.classes)
    found = evaluate(entry.model, Stream(part, 50, Stored(), entry.preprocess), Classification()).metrics["error"]
    assert abs(found - error) < 3 * (error * (1 - error) / images) ** 0.5
