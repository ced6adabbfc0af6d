"""Every known set, read from small files in its published form, and refused when they are broken."""

import dataclasses

import made
import numpy as np
import pytest

import tent.data
from tent.data import known_sets, load
from tent.data.sets import catalog

PLAIN = ["cifar10", "cifar100", "mnist", "mnist-m", "svhn", "usps"]


def test_the_exported_names():
    assert tent.data.__all__ == ["Images", "Preprocess", "Stream", "known_sets", "load"]


@pytest.fixture
def small(monkeypatch):
    """ImageNet and its kin with three classes, so that a test need not write a thousand folders."""
    for name in ("imagenet", "imagenet-c", "imagenetv2"):
        monkeypatch.setitem(catalog.SETS, name, dataclasses.replace(catalog.SETS[name], classes=3))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("split", ["train", "test"])
def test_small_sets_are_plain_arrays(root, name, split):
    about = known_sets()[name]
    pixels, labels = made.pixels(7, 8, 8, 1 if name in ("mnist", "usps") else 3), np.arange(7)
    made.arrays(root / about.folder, split, pixels, labels)
    images = load(name, split)
    published = about.splits[split]
    assert images.name == f"{name} {split} (7 of the published {published:,} images)"
    assert images.classes == about.classes
    assert np.array_equal(images.fetch(np.arange(7)), pixels)
    assert images.labels.tolist() == labels.tolist()


@pytest.mark.parametrize("name", PLAIN)
def test_a_small_set_with_a_label_too_high_or_missing_files_is_refused(root, name):
    about = known_sets()[name]
    with pytest.raises(FileNotFoundError, match=rf"test_images\.npy: no such file; get it with: tent data get {name}"):
        load(name)
    made.arrays(root / about.folder, "test", made.pixels(3, 8, 8, 3), np.array([0, 1, about.classes]))
    with pytest.raises(ValueError, match=rf"test_labels\.npy: a label is {about.classes}"):
        load(name)
    path = root / about.folder / "test_images.npy"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ValueError, match=r"test_images\.npy: not a whole"):
        load(name)


def test_a_name_may_be_written_with_an_underscore_and_a_root_be_given(tmp_path):
    made.arrays(tmp_path / "mnist_m", "test", made.pixels(3, 8, 8, 3), np.arange(3))
    assert len(load("MNIST_M", root=tmp_path)) == 3


@pytest.mark.parametrize("file", ["class_names.txt", "classes.txt"])
def test_class_names_are_read_where_they_lie(root, file):
    made.arrays(root / "cifar100", "test", made.pixels(3, 8, 8, 3), np.arange(3))
    assert load("cifar100").class_names is None
    (root / "cifar100" / file).write_text("\n".join(f"c{i}" for i in range(100)) + "\n")
    assert load("cifar100").class_names[99] == "c99"
    made.arrays(root / "cifar10", "test", made.pixels(3, 8, 8, 3), np.arange(3))
    assert load("cifar10").class_names[3] == "cat"


@pytest.mark.parametrize(("version", "count"), [("v6", 2000), ("v4", 2021)])
def test_cifar10_1(root, version, count):
    folder = root / "cifar10.1"
    folder.mkdir()
    np.save(folder / f"cifar10.1_{version}_data.npy", made.pixels(count, 4, 4, 3))
    np.save(folder / f"cifar10.1_{version}_labels.npy", np.zeros(count, dtype=np.int32))
    images = load("cifar10.1", version=version)
    assert images.name == f"cifar10.1 {version}"
    assert len(images) == count
    np.save(folder / f"cifar10.1_{version}_labels.npy", np.zeros(count - 1, dtype=np.int32))
    with pytest.raises(ValueError, match="labels for"):
        load("cifar10.1", version=version)
    with pytest.raises(ValueError, match="no version 'v5'"):
        load("cifar10.1", version="v5")


def tree(folder, classes):
    for name in classes:
        made.image_file(folder / name / "ILSVRC2012_val_1.JPEG", made.pixels(6, 7, 3))


@pytest.mark.parametrize("split", ["val", "test", "validation"])
def test_imagenet(root, small, split):
    tree(root / "imagenet" / "val", ["n02", "n01", "n03"])
    images = load("imagenet", split)
    assert images.name == "imagenet val (3 of the published 50,000 images)"
    assert images.where(0) == "n01/ILSVRC2012_val_1.JPEG"
    assert images.labels.tolist() == [0, 1, 2]
    assert images.fetch(np.array([2]))[0].shape == (6, 7, 3)


def test_imagenet_without_all_its_classes_would_be_mislabelled(root, small):
    with pytest.raises(FileNotFoundError, match="tent data get imagenet"):
        load("imagenet")
    tree(root / "imagenet" / "val", ["n02", "n01"])
    with pytest.raises(ValueError, match="2 class folders where 3 belong"):
        load("imagenet")
    with pytest.raises(ValueError, match="no split 'train'"):
        load("imagenet", "train")


def test_imagenet_has_a_thousand_classes():
    assert [known_sets()[name].classes for name in ("imagenet", "imagenet-c", "imagenetv2")] == [1000] * 3


def test_imagenet_c(root, small):
    tree(root / "ImageNet-C" / "fog" / "5", ["n02", "n01", "n03"])
    images = load("imagenet-c", corruption="fog", severity=5)
    assert images.name == "imagenet-c fog severity 5 (3 of the published 50,000 images)"
    assert images.labels.tolist() == [0, 1, 2]
    with pytest.raises(FileNotFoundError, match="no such folder"):
        load("imagenet-c", corruption="fog", severity=4)
    with pytest.raises(ValueError, match="there: fog"):
        load("imagenet-c")


def test_imagenetv2_labels_are_its_folders_numbers(root, small):
    at = root / "imagenetv2" / "imagenetv2-matched-frequency-format-val"
    tree(at, ["0", "1", "2"])
    made.image_file(at / "1" / "again.jpeg", made.pixels(6, 7, 3))
    images = load("imagenetv2")
    assert images.labels.tolist() == [0, 1, 1, 2]
    assert images.name == "imagenetv2 matched-frequency (4 of the published 10,000 images)"
    with pytest.raises(FileNotFoundError, match=r"threshold0\.7"):
        load("imagenetv2", version="threshold0.7")
    with pytest.raises(ValueError, match="no version 'all'"):
        load("imagenetv2", version="all")
    (at / "1").rename(at / "n1")
    with pytest.raises(ValueError, match="not 0 to 2"):
        load("imagenetv2")


def test_ten_comes_after_two_among_a_thousand_numbered_folders(root):
    at = root / "imagenetv2" / "imagenetv2-top-images-format-val"
    for number in range(1000):
        (at / str(number)).mkdir(parents=True)
    made.image_file(at / "10" / "a.jpeg", made.pixels(4, 4, 3))
    made.image_file(at / "2" / "a.jpeg", made.pixels(4, 4, 3))
    assert load("imagenetv2", version="top-images").labels.tolist() == [2, 10]


@pytest.mark.parametrize(("split", "asked"), [("train", "train"), ("validation", "validation"), ("validation", "test")])
def test_visda(root, split, asked):
    folder = root / "visda-c" / split
    for name in ("truck/b c.png", "aeroplane/a.png"):
        made.image_file(folder / name, made.pixels(6, 7, 3))
    (folder / "image_list.txt").write_text("truck/b c.png 11\naeroplane/a.png 0\n")
    images = load("visda-c", asked)
    assert images.labels.tolist() == [11, 0]
    assert images.where(0) == "truck/b c.png"
    assert images.class_names[11] == "truck"
    assert images.fetch(np.array([0]))[0].shape == (6, 7, 3)
    assert images.name.startswith(f"visda-c {split} (2 of")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the list is empty"),
        ("truck/a.png\n", "line 1"),
        ("truck/a.png 3\ntruck/a.png x\n", "line 2"),
        ("../a.png 3\n", "line 1"),
        ("/etc/a.png 3\n", "line 1"),
        ("truck/a.png 12\n", "a label is 12, but there are 12 classes"),
    ],
)
def test_a_broken_visda_list_is_refused(root, text, said):
    folder = root / "visda-c" / "train"
    folder.mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match=r"image_list\.txt: no such list"):
        load("visda-c", "train")
    (folder / "image_list.txt").write_text(text)
    with pytest.raises(ValueError, match=rf"image_list\.txt.*{said}"):
        load("visda-c", "train")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cifar11", "no set is called 'cifar11'; there are cifar10"),
        ("zip:a.zip", "'zip' is none of folder, npy, pairs, torchvision and hf"),
        ("folder:", "names nothing after its colon"),
    ],
)
def test_unknown_names_are_refused(root, name, said):
    with pytest.raises(ValueError, match=said):
        load(name)


@pytest.mark.parametrize(
    "name", ["cifar10", "cifar10-c", "cifar10.1", "imagenet", "imagenet-c", "imagenetv2", "visda-c"]
)
def test_an_unknown_option_is_refused(root, name):
    with pytest.raises(ValueError, match="no option colour"):
        load(name, colour="blue")


@pytest.mark.parametrize("name", ["folder:.", "npy:x.npy"])
def test_an_unknown_option_of_a_users_own_is_refused(name):
    with pytest.raises(ValueError, match="no option colour"):
        load(name, colour="blue")
