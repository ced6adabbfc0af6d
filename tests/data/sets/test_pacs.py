"""PACS: four domains of seven classes, one folder each, and a fixed split of the photographs."""

from pathlib import Path

import made
import numpy as np
import pytest
from real_sets import folder_or_skip

from tent.data import load
from tent.data.data_folder import data_folder
from tent.data.sets.catalog import get_set
from tent.data.sets.pacs import CLASSES, PACS

COUNTS = (23, 10, 9, 1, 11, 30, 2)


def lay_out(folder: Path, counts: tuple[int, ...] = COUNTS) -> Path:
    for name, count in zip(CLASSES, counts, strict=True):
        for number in range(count):
            made.image_file(folder / name / f"pic_{number:03}.png", made.pixels(6, 6, 3, seed=number))
    return folder


@pytest.mark.parametrize("name", ["pacs-art-painting", "pacs-cartoon", "pacs-sketch", "PACS_Art_Painting"])
def test_a_target_is_tested_on_all_its_images(root, name):
    lay_out(root / get_set(name).folder)
    images = load(name)
    assert (len(images), images.classes, images.class_names) == (sum(COUNTS), 7, CLASSES)
    assert np.bincount(images.labels).tolist() == list(COUNTS)
    assert images.name.startswith(f"{get_set(name).name} test (86 of the published ")
    with pytest.raises(ValueError, match="has no split 'train'; choose from test"):
        load(name, "train")


def test_every_tenth_photograph_of_each_class_is_for_testing(root):
    lay_out(root / "pacs" / "photo")
    train, test = load("pacs-photo", "train"), load("pacs-photo")
    assert np.bincount(test.labels, minlength=7).tolist() == [2, 1, 0, 0, 1, 3, 0]
    assert np.bincount(train.labels).tolist() == [21, 9, 9, 1, 10, 27, 2]
    assert test.files[:3] == ("dog/pic_009.png", "dog/pic_019.png", "elephant/pic_009.png")
    assert not set(test.files) & set(train.files)
    assert train.sha256 != test.sha256
    assert (train.classes, test.class_names) == (7, CLASSES)
    assert np.array_equal(test.fetch(np.array([1]))[0], made.pixels(6, 6, 3, seed=19))


def test_what_is_there_is_listed_under_either_name(root):
    lay_out(root / "PACS" / "photo")
    known = get_set("pacs-photo")
    assert known.pieces_in(known.path(data_folder())) == ["train", "test"]
    assert len(load("pacs-photo", "train")) == 79
    assert get_set("pacs-sketch").pieces_in(root / "pacs" / "sketch") == []


def test_odd_layouts_are_one_line(root):
    with pytest.raises(FileNotFoundError, match=r"photo: no such folder; bring it by hand: put PACS's folders photo"):
        load("pacs-photo")
    folder = lay_out(root / "pacs" / "sketch")
    (folder / "cat").mkdir()
    with pytest.raises(ValueError, match="the folder 'cat' is none of its classes; bring it by hand"):
        load("pacs-sketch")
    (folder / "cat").rmdir()
    (folder / "guitar" / "pic_000.png").unlink()
    with pytest.raises(ValueError, match="guitar: no image in it; bring it by hand"):
        load("pacs-sketch")
    (folder / "guitar").rmdir()
    with pytest.raises(ValueError, match="there is no folder 'guitar'; bring it by hand"):
        load("pacs-sketch")
    lay_out(root / "pacs" / "photo", (9,) * 7)
    with pytest.raises(ValueError, match="no class has 10 images, and every tenth is for testing"):
        load("pacs-photo")


@pytest.mark.real_data
def test_the_published_images_are_all_there(real_data):
    for known in PACS:
        folder_or_skip(real_data, known.name)
        for split, count in known.splits.items():
            images = load(known.name, split, root=real_data)
            assert (images.name, len(images)) == (f"{known.name} {split}", count)
            assert images.fetch(np.array([0]))[0].shape == (227, 227, 3)
