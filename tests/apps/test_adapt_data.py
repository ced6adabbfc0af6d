"""What a run makes of a user's images: order, labels, preprocessing, and files that are broken."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from command import Ran, tent
from PIL import Image

NETS = """
import torch
from torch import nn
from tent.data import Preprocess

class Mean(nn.Module):  # tells colours apart: red, green, blue, nothing
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(3)
    def forward(self, x):
        x = self.norm(x).mean((2, 3))
        return 20 * torch.cat([x, x.new_full((len(x), 1), 0.5)], 1)

def plain():
    return Mean()

def both():
    return Mean(), Preprocess(size=(8, 8))
"""
COLOURS = {"red": 0, "green": 1, "blue": 2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "names.txt").write_text("Red\nGreen\nBlue\nnothing\n")
    for name, channel in COLOURS.items():
        for i in range(30):
            pixels = random.integers(0, 60, (8 + i % 3, 8, 3), dtype=np.uint8)
            pixels[..., channel] += 190
            path = tmp_path / "photos" / name / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
    return tmp_path


def adapt(folder: Path, *words: str) -> Ran:
    return tent(folder, "adapt", *words, "--stats", "source", "--overwrite")


def read(folder: Path) -> tuple[dict, list[dict[str, str]]]:
    with (folder / "adapted" / "predictions.csv").open() as file:
        return json.loads((folder / "adapted" / "summary.json").read_text()), list(csv.DictReader(file))


def test_folders_are_shuffled_and_matched_to_the_names_of_classes(folder: Path) -> None:
    ran = adapt(folder, "nets.py:both", "photos", "--classes", "names.txt", "--batch", "30")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert "shuffled by seed 0" in ran.stdout
    assert "resized to 8x8 (bilinear), scaled to 0..1 (from nets.py:both)" in " ".join(ran.stdout.split())
    summary, rows = read(folder)
    assert summary["error_after"] == 0
    assert {(row["name"], row["label"]) for row in rows} == {("Red", "0"), ("Green", "1"), ("Blue", "2")}
    assert len({row["label"] for row in rows[:10]}) > 1
    assert summary["warnings"] == []


def test_a_stream_in_class_order_is_warned_of(folder: Path) -> None:
    words = ["nets.py:both", "photos", "--classes", "names.txt", "--batch", "30", "--order", "stored"]
    ran = adapt(folder, *words)
    assert re.fullmatch(r"warning: classes come in runs along this stream \(.*\), .*--order shuffled.*\n", ran.stderr)
    assert read(folder)[0]["warnings"] == [ran.stderr.removeprefix("warning: ").strip()]
    assert adapt(folder, *words, "--method", "source").stderr == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "folder photos: the model does not say what its 4 classes are called, so blue, green, red cannot be told"),
        (["--classes", "other.txt"], "not among the model's 4 classes (one, red, blue, four): green; give --classes"),
        (["--classes", "three.txt"], "three.txt: holds 3 classes, but nets.py:both answers with 4"),
        (["--classes", "sorted"], "folder photos: its folders, sorted, are 3 classes, but nets.py:both answers with 4"),
    ],
)
def test_folders_that_do_not_match_are_refused(folder: Path, words: list[str], message: str) -> None:
    (folder / "other.txt").write_text("one\nred\nblue\nfour\n")
    (folder / "three.txt").write_text("red\ngreen\nblue\n")
    ran = adapt(folder, "nets.py:both", "photos", *words)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert not (folder / "adapted").exists()


def test_sorted_names_unlabelled_images_and_indices(folder: Path) -> None:
    assert adapt(folder, "nets.py:both", "photos", "--unlabelled").returncode == 0
    assert "error_after" not in read(folder)[0]
    (folder / "photos" / "alpha").mkdir()  # empty: no class
    (folder / "photos" / "zeta").mkdir()
    Image.new("RGB", (8, 8)).save(folder / "photos" / "zeta" / "0.png")
    assert adapt(folder, "nets.py:both", "photos", "--classes", "sorted").returncode == 0
    assert {row["name"] for row in read(folder)[1]} <= {"blue", "green", "red", "zeta"}
    for name, index in COLOURS.items():
        (folder / "photos" / name).rename(folder / "photos" / str(index))
    (folder / "photos" / "zeta").rename(folder / "photos" / "3")
    assert adapt(folder, "nets.py:both", "photos").returncode == 0
    assert read(folder)[0]["error_after"] == 0


def test_a_sets_own_names_must_be_the_models(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = folder / "data" / "cifar10"
    data.mkdir(parents=True)
    np.save(data / "test_images.npy", np.zeros((4, 32, 32, 3), dtype=np.uint8))
    np.save(data / "test_labels.npy", np.array([0, 1, 2, 9]))
    monkeypatch.setenv("TENT_DATA", str(folder / "data"))
    ran = tent(folder, "adapt", "r26-svhn", "cifar10")
    assert ran.returncode == 2
    assert "not among the model's 10 classes (0, 1, 2, 3, 4 and 5 more): airplane, automobile" in ran.stderr
    assert tent(folder, "adapt", "r26-svhn", "cifar10", "--unlabelled").returncode == 0


def test_broken_images_are_left_out_and_listed(folder: Path) -> None:
    whole = (folder / "photos" / "red" / "0.png").read_bytes()
    (folder / "photos" / "red" / "0.png").write_bytes(whole[:-30])
    (folder / "photos" / "blue" / "junk.jpg").write_text("junk")
    words = ["nets.py:both", "photos", "--classes", "names.txt", "--batch", "1", "--stats", "prior:4"]
    ran = adapt(folder, *words)
    assert ran.returncode == 0, ran.stderr
    assert "warning: left out, since it cannot be read: blue/junk.jpg and 1 more; photos/blue/junk.jpg" in ran.stderr
    assert "2 images that cannot be read" in ran.stdout
    summary, rows = read(folder)
    assert set(summary["unreadable"]) == {"red/0.png", "blue/junk.jpg"}
    assert summary["images"] == len(rows) == 89
    assert summary["error_after"] == 0  # files, labels and answers still belong together
    assert all(row["label"] == str(COLOURS[Path(row["file"]).parts[0]]) for row in rows)
    strict = adapt(folder, *words, "--strict")
    assert strict.returncode == 2
    assert "not a whole image" in strict.stderr


def test_nothing_that_can_be_read_is_one_line(folder: Path) -> None:
    (folder / "none").mkdir()
    (folder / "none" / "a.jpg").write_text("junk")
    ran = adapt(folder, "nets.py:both", "none")
    assert ran.returncode == 2
    assert "folder none: none of its images can be read; none/a.jpg: not a whole image" in ran.stderr


def test_preprocessing_that_nobody_knows_is_said_to_be_assumed(folder: Path) -> None:
    words = ["photos", "--unlabelled", "--limit", "40"]
    ran = adapt(folder, "nets.py:plain", *words)
    assert "warning: preprocessing is not known and assumed: scaled to 0..1; give --size" in ran.stderr
    assert ran.returncode == 2  # these are of several sizes
    assert "give the preprocessing a size and a crop (--size and --crop)" in ran.stderr
    ran = adapt(folder, "nets.py:plain", *words, "--size", "9x8", "--crop", "8", "--mean", "0.5", "--std", "1,1,2")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert read(folder)[0]["protocol"]["preprocessing"] == (
        "resized to 9x8 (bilinear), centre crop 8x8, mean (0.5, 0.5, 0.5), std (1, 1, 2) "
        "(size, crop, mean, std as given)"
    )
    ran = adapt(folder, "nets.py:plain", *words, "--like", "timm:resnet10t")
    assert read(folder)[0]["protocol"]["preprocessing"].endswith("std (0.229, 0.224, 0.225) (like timm:resnet10t)")


@pytest.mark.parametrize("words", [["--batch", "4"], ["--episodic", "--steps", "3"], ["--batch", "64", "--limit", "8"]])
def test_small_batches_get_statistics_that_suit_them(folder: Path, words: list[str]) -> None:
    words = ["nets.py:both", "photos", "--unlabelled", "--limit", "12", *words]
    ran = tent(folder, "adapt", *words)
    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(r"warning: batches of \d+ are small for .*: Prior\(samples=\d+\) is used .*\n", ran.stderr)
    assert "(chosen for batches of" in ran.stdout
    assert read(folder)[0]["protocol"]["statistics"].startswith("Prior(samples=")


def test_a_last_batch_of_very_few_images_joins_the_one_before(folder: Path) -> None:
    ran = tent(folder, "adapt", "nets.py:both", "photos", "--unlabelled", "--batch", "87")
    assert (ran.returncode, ran.stderr) == (0, "")
    summary = read(folder)[0]
    assert (summary["images"], summary["updates"]) == (90, 1)
    assert summary["protocol"]["batch"] == "87 images"


@pytest.mark.parametrize("size", ["1", "3"])
def test_online_updates_on_a_few_images_are_refused_with_what_to_do(folder: Path, size: str) -> None:
    words = ["adapt", "nets.py:both", "photos", "--unlabelled", "--limit", "12", "--batch", size]
    ran = tent(folder, *words)
    assert ran.returncode == 2
    assert "updates on so few drift: pass a larger --batch, --method bn or --episodic" in ran.stderr
    assert tent(folder, *words, "--method", "bn").returncode == 0
