import sys

import made
import numpy as np
import pytest

from tent.data import Preprocess, Stream, load
from tent.data.hub import wrap_dataset


def test_a_torchvision_set_by_the_name_of_its_class(root):
    pytest.importorskip("torchvision")
    images = load("torchvision:FakeData", size=12, image_size=(3, 8, 9), num_classes=4)
    assert len(images) == 12
    assert images.fetch(np.array([3]))[0].shape == (8, 9, 3)
    assert images.where(3) == "torchvision FakeData test[3]"
    x, y, _ = next(iter(Stream(images, 5, preprocess=Preprocess(8, 8))))
    assert x.shape == (5, 3, 8, 8)
    assert y.tolist() == images.labels[np.random.default_rng(0).permutation(12)[:5]].tolist()
    assert len(images.sha256) == 64


def test_a_torchvision_set_that_reads_a_folder(root):
    pytest.importorskip("torchvision")
    for name in ("b/1.png", "a/2.png"):
        made.image_file(root / "torchvision" / name, made.pixels(5, 6, 3))
    images = load("torchvision:ImageFolder")
    assert images.class_names == ("a", "b")
    assert images.labels.tolist() == [0, 1]
    assert np.array_equal(images.fetch(np.array([1]))[0], made.pixels(5, 6, 3))


@pytest.mark.parametrize("name", ["NoSuchSet", "utils", "VisionDatasets"])
def test_an_unknown_torchvision_set_is_refused(root, name):
    pytest.importorskip("torchvision")
    with pytest.raises(ValueError, match="no set called"):
        load(f"torchvision:{name}")


def test_a_torchvision_set_that_is_not_there_says_how_to_fetch_it(root):
    pytest.importorskip("torchvision")
    with pytest.raises(ValueError, match="download=True"):
        load("torchvision:FashionMNIST")


@pytest.mark.parametrize(
    ("name", "package", "extra"), [("torchvision:MNIST", "torchvision", "vision"), ("hf:x", "datasets", "hf")]
)
def test_a_missing_package_is_named_with_its_extra(root, monkeypatch, name, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"pip install 'tent-tta\[{extra}\]'"):
        load(name)


@pytest.fixture
def table(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    pictures = [{"bytes": made.image(made.pixels(5, 6, 3, seed=i)), "path": None} for i in range(4)]
    columns = {"picture": pictures, "kind": [1, 0, 1, 2], "other": [3, 2, 1, 0]}
    kinds = datasets.ClassLabel(names=["ant", "bee", "cat"])
    features = datasets.Features({"picture": datasets.Image(), "kind": kinds, "other": datasets.Value("int64")})
    datasets.Dataset.from_dict(columns, features=features).save_to_disk(tmp_path / "table")
    return tmp_path / "table"


def test_a_hugging_face_set_finds_its_columns_by_type(table):
    images = load(f"hf:{table}")
    assert images.class_names == ("ant", "bee", "cat")
    assert images.labels.tolist() == [1, 0, 1, 2]
    assert np.array_equal(images.fetch(np.array([2]))[0], made.pixels(5, 6, 3, seed=2))


def test_its_columns_may_be_named(table):
    images = load(f"hf:{table}", image="picture", label="other")
    assert images.labels.tolist() == [3, 2, 1, 0]
    assert images.classes == 4
    with pytest.raises(ValueError, match="no column 'label'; say image= and label= of picture, kind, other"):
        load(f"hf:{table}", label="label")


def test_a_hugging_face_set_without_labels(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    features = datasets.Features({"picture": datasets.Image()})
    pictures = [{"bytes": made.image(made.pixels(5, 6, 3)), "path": None}]
    datasets.Dataset.from_dict({"picture": pictures}, features=features).save_to_disk(tmp_path / "table")
    images = load(f"hf:{tmp_path / 'table'}")
    assert (images.labels, images.classes, len(images)) == (None, None, 1)


def test_items_may_be_arrays_but_only_of_bytes():
    items = [(made.pixels(4, 5), 1), (made.pixels(4, 5, 3), 0), (np.zeros((4, 5)), 1)]
    images = wrap_dataset("mine", items)
    grey, colour = images.fetch(np.array([0, 1]))
    assert (grey.shape, colour.shape) == ((4, 5, 1), (4, 5, 3))
    with pytest.raises(ValueError, match="mine, image 2: an image is uint8"):
        images.fetch(np.array([2]))


def test_a_hugging_face_set_out_of_reach_is_one_clear_line(root, monkeypatch):
    datasets = pytest.importorskip("datasets")

    def refuse(*_, **__):
        raise ConnectionError("Couldn't reach the hub\nand more")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(
        ValueError, match="hf:somebody/something did not open: Couldn't reach the hub; without a network"
    ) as said:
        load("hf:somebody/something")
    assert "\n" not in str(said.value)
