"""CIFAR-10-C and CIFAR-100-C in their published layout, and broken ones."""

import json

import made
import numpy as np
import pytest

from tent.data import load


@pytest.fixture(params=[("cifar10-c", "cifar10-c"), ("cifar10-c", "CIFAR-10-C"), ("cifar100-c", "cifar100-c")])
def corrupted(root, request):
    name, folder = request.param
    (root / folder).mkdir()
    np.save(root / folder / "fog.npy", made.pixels(20, 8, 8, 3))
    np.save(root / folder / "labels.npy", np.tile(np.array([3, 1, 2, 0], dtype=np.uint8), 5))
    return name, root / folder


def test_a_corruption_is_a_fifth_of_its_file(corrupted):
    name, _ = corrupted
    images = load(name, corruption="fog", severity=2)
    assert images.name == f"{name} fog severity 2 (4 of the published 10,000 images)"
    assert np.array_equal(images.fetch(np.arange(4)), made.pixels(20, 8, 8, 3)[4:8])
    assert images.labels.tolist() == [3, 1, 2, 0]
    assert images.where(1) == "fog.npy[5]"
    assert isinstance(images._pixels, np.memmap)
    assert np.array_equal(load(name, corruption="fog").fetch(np.arange(4)), made.pixels(20, 8, 8, 3)[16:])


def test_a_severity_made_alone_is_found_and_says_that_it_was_made(corrupted):
    name, folder = corrupted
    np.save(folder / "snow_3.npy", made.pixels(4, 8, 8, 3, seed=1))
    (folder / "snow_3.made.json").write_text(json.dumps({"tent": "9.9", "seed": 4}))
    images = load(name, corruption="snow", severity=3)
    assert images.name.endswith("(made by tent 9.9, seed 4)")
    assert np.array_equal(images.fetch(np.arange(4)), made.pixels(4, 8, 8, 3, seed=1))
    with pytest.raises(FileNotFoundError, match=r"snow\.npy"):
        load(name, corruption="snow", severity=2)
    (folder / "snow_3.made.json").write_text("{")
    with pytest.raises(ValueError, match=r"snow_3\.made\.json"):
        load(name, corruption="snow", severity=3)


def test_broken_corruptions_are_refused(corrupted):
    name, folder = corrupted
    with pytest.raises(ValueError, match="needs a corruption, not None; there: fog"):
        load(name)
    with pytest.raises(ValueError, match="needs a corruption"):
        load(name, corruption="../fog")
    with pytest.raises(ValueError, match="severity 6"):
        load(name, corruption="fog", severity=6)
    np.save(folder / "rain.npy", made.pixels(19, 8, 8, 3))
    with pytest.raises(ValueError, match=r"rain\.npy: 19 images where 20 belong"):
        load(name, corruption="rain")
    np.save(folder / "labels.npy", np.arange(20) % 10)
    with pytest.raises(ValueError, match=r"labels\.npy: not the same labels five times"):
        load(name, corruption="fog")
    (folder / "labels.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"labels\.npy"):
        load(name, corruption="fog")


def test_labels_that_are_not_those_of_the_clean_images_are_refused(corrupted):
    name, folder = corrupted
    made.arrays(folder.parent / name.removesuffix("-c"), "test", made.pixels(4, 8, 8, 3), np.array([3, 1, 2, 0]))
    load(name, corruption="fog")
    made.arrays(folder.parent / name.removesuffix("-c"), "test", made.pixels(4, 8, 8, 3), np.array([3, 1, 2, 1]))
    with pytest.raises(ValueError, match=r"labels\.npy: not the labels of the clean images"):
        load(name, corruption="fog")
