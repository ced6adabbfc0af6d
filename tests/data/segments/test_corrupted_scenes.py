"""Cityscapes-C: every type on images of any size, labels of the clean set, and a run that was stopped goes on."""

from pathlib import Path

import numpy as np
import pytest
import scenes_made as made
from command import tent

from tent.data import load
from tent.data.corruptions import BENCHMARK, HELD_OUT, corrupt

NAMES = ("ulm_000001_000019", "ulm_000002_000019")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made.cityscapes(tmp_path / "cityscapes", names=NAMES)
    monkeypatch.setenv("TENT_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("type_", [*BENCHMARK, *HELD_OUT])
def test_every_type_takes_images_that_are_not_square(type_: str) -> None:
    images = np.random.default_rng(0).integers(0, 256, (1, 47, 90, 3), dtype=np.uint8)
    out = corrupt(images, type_, 3, constants="imagenet")
    assert (out.shape, out.dtype) == (images.shape, np.uint8)
    assert not np.array_equal(out, images)


def test_it_is_made_and_opened_with_the_clean_labels(root: Path) -> None:
    ran = tent(root, "data", "make", "cityscapes-c", "--types", "contrast,gaussian_noise", "--severities", "3")
    assert ran.returncode == 0, ran.stderr
    assert "made contrast/3, gaussian_noise/3" in ran.stdout
    clean = load("cityscapes-7")
    images = load("cityscapes-c-7", corruption="gaussian_noise", severity=3)
    index = np.arange(2)
    assert np.array_equal(images.targets(index), clean.targets(index))  # type: ignore[arg-type]
    (pixels, _), (own, other) = clean.fetch(index), images.fetch(index)
    assert np.array_equal(own, corrupt(pixels[None], "gaussian_noise", 3, start=0, constants="imagenet")[0])
    assert not np.array_equal(own, other)
    assert images.where(0) == clean.where(0)
    assert "gaussian_noise severity 3" in images.name


def test_a_half_made_set_is_refused_by_split(root: Path) -> None:
    made.cityscapes(root / "cityscapes", "train", ("bonn_000001_000019",))
    arguments = ("data", "make", "cityscapes-c", "--types", "contrast", "--severities", "3")
    assert tent(root, *arguments).returncode == 0
    assert tent(root, *arguments, "--split", "train").returncode == 0
    options = {"corruption": "contrast", "severity": 3}
    assert [len(load("cityscapes-c", split, **options)) for split in ("train", "val")] == [1, 2]
    next((root / "cityscapes-c/contrast/3/leftImg8bit/val").rglob("*.png")).unlink()
    assert len(load("cityscapes-c", "train", **options)) == 1
    with pytest.raises(ValueError, match=r"1 of its 2 images of val are made; make the rest with: tent data make cit"):
        load("cityscapes-c", **options)
    assert tent(root, *arguments).returncode == 0
    assert len(load("cityscapes-c", **options)) == 2


def test_both_splits_are_made_in_one_folder_under_one_lock(root: Path) -> None:
    from tent.data.data_folder import lock_set

    made.cityscapes(root / "cityscapes", "train", ("bonn_000001_000019",))
    arguments = ("data", "make", "cityscapes-c", "--types", "contrast", "--severities", "3", "--split", "train")
    with lock_set(root / "cityscapes-c"):
        ran = tent(root, *arguments)
    assert "cityscapes-c: another process is writing this set" in ran.stderr
    said = "".join(tent(root, *arguments).stdout.split())
    assert said == f"cityscapes-c:madecontrast/3,in{root / 'cityscapes-c'}"
    assert not (root / "cityscapes-c/train").exists()


def test_images_alone_need_no_label_maps(root: Path) -> None:
    assert tent(root, "data", "make", "cityscapes-c", "--types", "contrast", "--severities", "3").returncode == 0
    for path in (root / "cityscapes/gtFine").rglob("*.png"):
        path.unlink()
    images = load("cityscapes-c", corruption="contrast", severity=3, labelled=False)
    assert (len(images), images.labelled, images.classes) == (2, False, None)
    with pytest.raises(FileNotFoundError, match="no such label map and 1 more, though its image is there"):
        load("cityscapes-c", corruption="contrast", severity=3)


def test_what_is_whole_is_left_alone(root: Path) -> None:
    arguments = ("data", "make", "cityscapes-c", "--types", "contrast", "--severities", "1", "--workers", "2")
    tent(root, *arguments)
    paths = sorted((root / "cityscapes-c/contrast/1").rglob("*.png"))
    before = [path.read_bytes() for path in paths]
    paths[1].unlink()
    assert "made contrast/1" in tent(root, *arguments).stdout
    assert [path.read_bytes() for path in paths] == before
    assert "already there" in tent(root, *arguments).stdout
    ran = tent(root, *arguments, "--seed", "1")
    assert "was made with seed 0, not 1; delete it first" in ran.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "cityscapes-c needs a corruption; there: none yet"),
        ({"corruption": "fog"}, "tent data make cityscapes-c --types fog --severities 5"),
    ],
)
def test_what_is_not_there_is_one_line(root: Path, options: dict[str, str], said: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=said):
        load("cityscapes-c", **options)


def test_drawn_frost_and_photographs_of_it_are_not_mixed(root: Path) -> None:
    made.picture(root / "photographs/frost1.png", 64, 64)
    arguments = ("data", "make", "cityscapes-c", "--types", "frost", "--severities", "1")
    assert tent(root, *arguments).returncode == 0
    next((root / "cityscapes-c/frost/1").rglob("*.png")).unlink()
    ran = tent(root, *arguments, "--frost", "photographs")
    assert ran.returncode == 2
    assert "was made with frost drawn, not frost1.png " in ran.stderr
