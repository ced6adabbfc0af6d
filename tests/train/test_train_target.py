"""Targets: which images a word names, and what its error is measured on."""

import numpy as np
import pytest

from tent.train.target import Target


@pytest.mark.parametrize(
    ("word", "said", "parts"),
    [
        ("mnist", "mnist", ("mnist", "train", "", 5)),
        ("mnist:train", "mnist", ("mnist", "train", "", 5)),
        ("mnist:test", "mnist:test", ("mnist", "test", "", 5)),
        ("mnist_m", "mnist-m", ("mnist-m", "train", "", 5)),
        ("cifar10-c:fog", "cifar10-c:fog:5", ("cifar10-c", "test", "fog", 5)),
        ("cifar10-c:glass_blur:3", "cifar10-c:glass_blur:3", ("cifar10-c", "test", "glass_blur", 3)),
        ("cifar10-c:fog:5:test", "cifar10-c:fog:5", ("cifar10-c", "test", "fog", 5)),
        ("cifar10-c:fog:train", "cifar10-c:fog:5:train", ("cifar10-c", "train", "fog", 5)),
        ("cifar100-c:fog:3:train", "cifar100-c:fog:3:train", ("cifar100-c", "train", "fog", 3)),
        ("folder:/photos/b", "folder:/photos/b", ("folder:/photos/b", "train", "", 5)),
        ("npy:a.npy,b.npy", "npy:a.npy,b.npy", ("npy:a.npy,b.npy", "train", "", 5)),
    ],
)
def test_a_word_names_one_set_in_one_way(word, said, parts):
    target = Target.parse(word)
    assert (target.name, target.split, target.type, target.severity) == parts
    assert target.word == said
    assert Target.parse(said) == target


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("nowhere", "no set is called 'nowhere'"),
        ("mnist:test:5", "'mnist:test:5': write mnist, or mnist:test for its test split"),
        ("mnist:", "'mnist:': write mnist"),
        ("cifar10-c", "'cifar10-c': write cifar10-c:TYPE or cifar10-c:TYPE:SEVERITY"),
        ("cifar10-c:fog:hard", "write cifar10-c:TYPE"),
        ("cifar10-c::5", "write cifar10-c:TYPE"),
        ("cifar10-c:train", "write cifar10-c:TYPE"),
        ("cifar10-c:fog:5:1", "write cifar10-c:TYPE"),
    ],
)
def test_a_word_that_names_nothing_says_what_to_write(word, line):
    with pytest.raises(ValueError, match=line):
        Target.parse(word)


def test_the_images_are_those_that_the_data_room_has(root, target):
    train, test = Target.parse(target).open(root), Target.parse(target).open_test(root)
    assert (len(train), len(test)) == (20, 40)
    assert len(Target.parse("mnist:test").open(root)) == 40
    assert Target.parse(target).describe(train) == "mnist train"
    with pytest.raises(ValueError, match="mnist has no split 'fog'; choose from train, test"):
        Target.parse("mnist:fog").open(root)
    with pytest.raises(FileNotFoundError, match="svhn"):
        Target.parse("svhn").open(root)


def test_a_corrupted_stream_is_learnt_from_and_measured_on(root):
    folder = root / "cifar10-c"
    folder.mkdir()
    labels = np.load(root / "cifar10" / "test_labels.npy")
    np.save(folder / "labels.npy", np.tile(labels, 5))
    np.save(folder / "fog_5.npy", np.zeros((40, 8, 8, 3), dtype=np.uint8))
    fog = Target.parse("cifar10-c:fog")
    assert fog.open(root).sha256 == fog.open_test(root).sha256
    assert fog.describe(fog.open(root)) == "cifar10-c fog 5 test"
    with pytest.raises(ValueError, match="severity 9: choose from 1 to 5"):
        Target.parse("cifar10-c:fog:9").open(root)
    with pytest.raises(FileNotFoundError, match=r"snow.*tent data make cifar10-c"):
        Target.parse("cifar10-c:snow").open(root)


def test_corrupted_training_images_are_made_when_they_are_first_asked_for(root):
    fog = Target.parse("cifar10-c:fog:5:train")
    clean = np.load(root / "cifar10" / "train_images.npy")
    made = fog.open(root)
    assert made.name.startswith("cifar10-c train fog severity 5")
    assert made.fetch(np.arange(len(clean))).shape == clean.shape
    assert fog.describe(made) == "cifar10-c fog 5 train"
    before = (root / "cifar10-c" / "train" / "fog_5.npy").stat().st_mtime_ns
    assert fog.open(root).sha256 == made.sha256
    assert (root / "cifar10-c" / "train" / "fog_5.npy").stat().st_mtime_ns == before
