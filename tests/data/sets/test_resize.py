"""A resized set is what preprocessing would make of it, read once and held."""

import made
import numpy as np
import pytest
from PIL import Image

from tent.data import Preprocess, load
from tent.data.sets.arrays import ArrayImages
from tent.data.sets.resize import ResizedImages


def digits(n: int = 5, side: int = 28, channels: int = 1) -> ArrayImages:
    return ArrayImages("digits", made.pixels(n, side, side, channels), np.arange(n), 10, file="x.npy")


@pytest.mark.parametrize(("side", "channels"), [(28, 1), (28, 3), (32, 1), (40, 3)])
def test_its_images_are_those_that_preprocessing_makes(side, channels):
    images = digits(5, side, channels)
    rows = ResizedImages(images, 32).fetch(np.array([3, 0]))
    assert rows.dtype == np.uint8
    assert np.array_equal(rows, [Preprocess(size=(32, 32)).shape(image) for image in images.fetch(np.array([3, 0]))])


def test_it_is_pillows_bilinear_resizing():
    images = digits(1)
    theirs = Image.fromarray(images.fetch(np.array([0]))[0, ..., 0]).resize((32, 32), Image.Resampling.BILINEAR)
    ours = ResizedImages(images, 32).fetch(np.array([0]))
    assert all(np.array_equal(ours[0, ..., channel], np.asarray(theirs)) for channel in range(3))


def test_the_rest_is_that_of_the_set():
    images = digits()
    resized = ResizedImages(images, 32)
    assert (len(resized), resized.classes, resized.extent) == (5, 10, (32, 32))
    assert resized.name == "digits at 32x32"
    assert resized.targets(np.array([4, 2])).tolist() == [4, 2]
    assert resized.where(3) == "x.npy[3]"
    assert ResizedImages(ArrayImages("x", made.pixels(2, 4, 4, 3), None, None), 8).labels is None


def test_the_hash_tells_sizes_and_sets_apart():
    hashes = {digits().sha256, *(ResizedImages(digits(n), size).sha256 for n in (5, 6) for size in (31, 32))}
    assert len(hashes) == 5
    assert ResizedImages(digits(), 32).sha256 in hashes


def test_every_image_is_read_once_and_not_before_it_is_asked_for(monkeypatch):
    read, images = [], digits(10)
    fetch = images.fetch
    monkeypatch.setattr("tent.data.sets.resize.CHUNK", 4)
    monkeypatch.setattr(images, "fetch", lambda indices, each: read.extend(indices) or fetch(indices, each))
    resized = ResizedImages(images, 32)
    assert not read
    first, again = (resized.fetch(np.array([9])) for _ in range(2))
    first[:] = 0  # a copy: the set keeps its own
    assert np.array_equal(resized.fetch(np.arange(10))[9:], again)
    assert again.any()
    assert read == list(range(10))


def test_something_may_be_done_to_each_image():
    fetched = ResizedImages(digits(), 32).fetch(np.array([1, 2]), lambda image: image[:3])
    assert [image.shape for image in fetched] == [(3, 32, 3)] * 2


def test_images_of_many_sizes_become_one_array(tmp_path):
    for place, sides in enumerate([(8, 9), (40, 20), (32, 32)]):
        Image.fromarray(made.pixels(*sides, 3)).save(tmp_path / f"{place}.png")
    images = load(f"folder:{tmp_path}")
    assert images.extent is None
    assert ResizedImages(images, 16).fetch(np.arange(3)).shape == (3, 16, 16, 3)


def test_a_size_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="size"):
        ResizedImages(digits(), 0)


def test_a_set_that_is_too_large_to_be_held_is_read_when_it_is_asked_for(monkeypatch):
    held = ResizedImages(digits(), 16).fetch(np.array([3, 1]))
    monkeypatch.setattr("tent.data.sets.resize.MOST", 5 * 16 * 16 * 3 - 1)
    read, images = [], digits()
    fetch = images.fetch
    monkeypatch.setattr(images, "fetch", lambda indices, each: read.extend(indices) or fetch(indices, each))
    resized = ResizedImages(images, 16)
    assert np.array_equal(resized.fetch(np.array([3, 1])), held)
    assert read == [3, 1]
    assert [image.shape for image in resized.fetch(np.array([0]), lambda image: image[:3])] == [(3, 16, 3)]
