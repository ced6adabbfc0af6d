"""Files come in an order that suits them: frames by number, others shuffled, or by the time they were taken."""

import os

import made
import numpy as np
import pytest
from PIL import Image

from tent.data import Stream, load
from tent.data.sets.file_order import are_frames, choose_order


def places(folder, word=None, seed=0):
    images = load(f"folder:{folder}")
    order = choose_order(images, word, seed)
    stream = Stream(images, 2, order)
    return [stream.where(place) for place in range(stream.total)], order.words


def fill(folder, names):
    for name in names:
        made.image_file(folder / name, made.pixels(4, 4, 3))


@pytest.mark.parametrize(
    ("files", "frames"),
    [
        (["frame_1.png", "frame_02.jpg", "frame_10.png"], True),
        (["2020-01-02_10.png", "2020-01-03_9.png"], True),
        (["cat_1.png", "dog_1.png"], False),
        (["a.png", "b.png"], False),
        (["1.png"], False),
        (["0/1.png", "1/1.png"], False),
    ],
)
def test_frames_are_files_of_one_folder_numbered_alike(files, frames):
    assert are_frames(files) is frames


def test_frames_come_by_their_number(tmp_path):
    fill(tmp_path, [f"f{i}.png" for i in (10, 9, 1, 100)])
    assert places(tmp_path) == (["f1.png", "f9.png", "f10.png", "f100.png"], "by the number in their names")
    assert places(tmp_path, "stored")[0] == ["f1.png", "f10.png", "f100.png", "f9.png"]


def test_folders_of_classes_are_shuffled_by_the_seed(tmp_path):
    fill(tmp_path, [f"{name}/{i}.png" for name in ("cat", "dog") for i in range(8)])
    found, words = places(tmp_path, seed=3)
    assert words == "shuffled by seed 3"
    assert found != sorted(found)
    assert sorted(found) == sorted(places(tmp_path, "stored")[0])
    assert found == places(tmp_path, seed=3)[0] != places(tmp_path, seed=4)[0]


def test_arrays_stay_as_they_are_stored_and_have_no_time(tmp_path):
    np.save(tmp_path / "x.npy", made.pixels(3, 4, 4, 3))
    images = load(f"npy:{tmp_path / 'x.npy'}")
    assert choose_order(images, None, 0).words == "in the order stored"
    with pytest.raises(ValueError, match=r"npy x\.npy: only image files have a time"):
        choose_order(images, "time", 0)
    with pytest.raises(ValueError, match="no order 'up'"):
        choose_order(images, "up", 0)


def test_time_is_the_exif_date_or_else_the_modification_time(tmp_path):
    fill(tmp_path, ["a.jpg", "b.jpg", "c.jpg", "d.jpg"])
    for name, seconds in (("a.jpg", 4e8), ("b.jpg", 3e8), ("c.jpg", 2e8), ("d.jpg", 1e9)):
        os.utime(tmp_path / name, (seconds, seconds))
    assert places(tmp_path, "time") == (["c.jpg", "b.jpg", "a.jpg", "d.jpg"], "by time (modification time)")
    date(tmp_path / "d.jpg", "1979:01:01 00:00:00")
    assert places(tmp_path, "time") == (
        ["c.jpg", "d.jpg", "b.jpg", "a.jpg"],
        "by time (EXIF date of 1, modification time of 3)",
    )
    for year, name in enumerate(["c.jpg", "a.jpg", "b.jpg"], 2001):
        date(tmp_path / name, f"{year}:01:01 00:00:00")
    assert places(tmp_path, "time") == (["d.jpg", "c.jpg", "a.jpg", "b.jpg"], "by time (EXIF date)")


def test_a_date_that_is_none_and_a_file_that_is_no_image_go_by_modification_time(tmp_path):
    fill(tmp_path, ["a.jpg", "b.jpg"])
    date(tmp_path / "a.jpg", "yesterday")
    (tmp_path / "b.jpg").write_bytes(b"none")
    assert places(tmp_path, "time")[1] == "by time (modification time)"


def date(path, text):
    with Image.open(path) as image:
        tags = image.getexif()
        tags.get_ifd(0x8769)[36867] = text
        copy = image.copy()
    copy.save(path, exif=tags)
