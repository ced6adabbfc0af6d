import made
import numpy as np
import pytest

from tent.data import load


@pytest.fixture
def pair(tmp_path):
    np.save(tmp_path / "x.npy", made.pixels(6, 4, 5, 3))
    np.save(tmp_path / "y.npy", np.array([0, 1, 2, 0, 1, 2], dtype=np.uint8))
    return f"npy:{tmp_path / 'x.npy'},{tmp_path / 'y.npy'}"


def test_a_pair_of_arrays_opens_as_images(pair, tmp_path):
    images = load(pair)
    assert (len(images), images.classes, images.name) == (6, 3, "npy x.npy")
    assert images.labels.dtype == np.int64
    assert np.array_equal(images.fetch(np.array([4, 1])), made.pixels(6, 4, 5, 3)[[4, 1]])
    assert images.where(4) == "x.npy[4]"
    assert load(pair, classes=7).classes == 7
    assert load(pair, class_names=["a", "b", "c"]).class_names == ("a", "b", "c")


def test_the_array_is_mapped(pair):
    assert isinstance(load(pair)._pixels, np.memmap)


def test_labels_may_be_absent(tmp_path):
    np.save(tmp_path / "x.npy", made.pixels(3, 4, 4, 1))
    images = load(f"npy:{tmp_path / 'x.npy'}")
    assert images.labels is None
    assert images.classes is None
    assert images.targets(np.array([0])) is None


def test_grey_images_need_no_channel_axis(tmp_path):
    np.save(tmp_path / "x.npy", made.pixels(3, 4, 4))
    assert load(f"npy:{tmp_path / 'x.npy'}").fetch(np.array([0])).shape == (1, 4, 4, 1)


def test_the_hash_tells_pixels_labels_and_shape_apart(pair, tmp_path):
    before = load(pair).sha256
    assert load(pair).sha256 == before
    other = made.pixels(6, 4, 5, 3)
    other[3, 0, 0, 0] ^= 1
    np.save(tmp_path / "x.npy", other)
    changed = load(pair).sha256
    np.save(tmp_path / "y.npy", np.zeros(6, dtype=np.int64))
    assert len({before, changed, load(pair).sha256}) == 3


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


def _lengthen(path):
    path.write_bytes(path.read_bytes() + b"0")


def _pickle(path):
    np.save(path, np.array([{"a": 1}], dtype=object))


def _zip(path):
    with path.open("wb") as file:
        np.savez(file, x=np.zeros(3))


@pytest.mark.parametrize("spoil", [_truncate, _lengthen, _pickle, _zip])
@pytest.mark.parametrize("name", ["x.npy", "y.npy"])
def test_a_broken_array_is_refused_by_name(pair, tmp_path, spoil, name):
    spoil(tmp_path / name)
    with pytest.raises(ValueError, match=name):
        load(pair)


@pytest.mark.parametrize("name", ["x.npy", "y.npy"])
def test_a_missing_array_is_named(pair, tmp_path, name):
    (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"{name}: no such file"):
        load(pair)


@pytest.mark.parametrize(
    "pixels", [np.zeros((3, 4, 4, 3)), np.zeros((3, 4, 4, 4), np.uint8), np.zeros((3, 4), np.uint8)]
)
def test_what_are_not_images_are_refused(tmp_path, pixels):
    np.save(tmp_path / "x.npy", pixels)
    with pytest.raises(ValueError, match="images must be uint8"):
        load(f"npy:{tmp_path / 'x.npy'}")


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (np.zeros(5, np.int64), "5 labels for 6 images"),
        (np.zeros(6), "one row of integers"),
        (np.zeros((6, 1), np.int64), "one row of integers"),
        (np.array([0, 1, 2, -1, 0, 0]), "a label is -1"),
    ],
)
def test_wrong_labels_are_refused(pair, tmp_path, labels, said):
    np.save(tmp_path / "y.npy", labels)
    with pytest.raises(ValueError, match=rf"y\.npy.*{said}"):
        load(pair)


def test_a_label_beyond_the_classes_is_refused(pair):
    with pytest.raises(ValueError, match="a label is 2, but there are 2 classes"):
        load(pair, classes=2)


def test_more_than_two_files_are_refused(pair):
    with pytest.raises(ValueError, match="one file of images and one of labels"):
        load(pair + ",z.npy")
