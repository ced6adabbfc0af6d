"""`tent analyse`, from a model and data to pictures and numbers."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from command import Ran, tent

from tent.analysis import Domain
from tent.analysis.run_words import make_title
from tent.data import Stream
from tent.data.make import make
from tent.data.sets.catalog import get_set

NETS = """
import torch
from torch import nn

def net():
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU()
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    with torch.no_grad():
        model[-1].weight.mul_(20)
        model.train()
        for _ in range(20):
            model((torch.rand(32, 3, 32, 32)))
    return model.eval()

def bare():
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 10))

def pixels():
    return nn.Sequential(nn.Conv2d(3, 10, 1), nn.BatchNorm2d(10))

def plain():
    return nn.Sequential(nn.Flatten(), nn.LayerNorm(3 * 32 * 32), nn.Linear(3 * 32 * 32, 10))
"""
FIGURES = (
    *("error-by-entropy", "loss-by-level", "error-by-type", "change-of-loss"),
    *("calibration", "confusion", "movement", "stream"),
)
SMALL = ("--limit", "40", "--batch", "20", "--size", "32")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model, a small CIFAR-10 and CIFAR-10-C of two types, and images of one's own."""
    root = tmp_path_factory.mktemp("analyse")
    (root / "nets.py").write_text(NETS)
    clean, random = root / "data" / "cifar10", np.random.default_rng(0)
    clean.mkdir(parents=True)
    pixels = random.integers(0, 256, (60, 32, 32, 3), dtype=np.uint8)
    for split in ("train", "test"):
        np.save(clean / f"{split}_images.npy", pixels)
        np.save(clean / f"{split}_labels.npy", np.arange(60) % 10)
    make(get_set("cifar10-c"), root / "data", ("fog", "contrast"))
    np.save(root / "x.npy", pixels)
    np.save(root / "y.npy", np.arange(60) % 10)
    return root


@pytest.fixture(autouse=True)
def _data(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENT_DATA", str(folder / "data"))


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    """Return the folder of all figures of a corrupted set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENT_DATA", str(folder / "data"))
        ran = tent(
            folder, "analyse", "nets.py:net", "cifar10-c", "--corruption", "fog,contrast", *SMALL, "--out", "out"
        )
    assert ran.returncode == 0, ran.stderr
    assert "written to: out" in ran.stdout
    return folder / "out"


def test_all_figures_of_a_corrupted_set_are_written_with_their_numbers_and_provenance(run: Path) -> None:
    for name in (*FIGURES, "features"):
        for form in ("png", "svg", "csv", "json"):
            assert (run / f"{name}.{form}").is_file(), (name, form)
        about = json.loads((run / f"{name}.json").read_text(encoding="utf-8"))
        assert {"commit", "versions", "hardware", "finished"} <= set(about["provenance"])
        assert about["protocol"]["Tent"]["reset"] == "before every new domain"
        assert about["model"]["name"] == "nets.py:net"
    assert not list(run.glob(".*"))


def test_every_type_and_level_is_run_and_the_original_data(run: Path) -> None:
    with (run / "loss-by-level.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "Tent"]
    levels = [(kind, str(level)) for kind in ("fog", "contrast") for level in range(1, 6)]
    assert [(row["type"], row["level"]) for row in rows] == [("original", "0"), *levels]
    assert {row["images"] for row in rows} == {"40"}


def test_features_are_of_the_first_type_at_its_highest_level_and_of_pairs(
    run: Path,
) -> None:
    about = json.loads((run / "features.json").read_text(encoding="utf-8"))
    assert "fog severity 5" in about["summary"]["shifted"]
    with (run / "features.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["layer"] for row in rows} == {"1", "4"}
    assert all(row["cka to clean"] for row in rows)


def test_one_s_own_images_without_labels_get_what_needs_none(folder: Path) -> None:
    ran = tent(folder, "analyse", "nets.py:net", "x.npy", *SMALL, "--out", "bare")
    assert ran.returncode == 0, ran.stderr
    assert {path.stem for path in (folder / "bare").glob("*.json")} == {"loss-by-level", "movement", "stream"}
    assert "warning: left out: calibration needs labels, and the data have none" in ran.stderr


def test_one_s_own_images_are_compared_with_clean_ones(folder: Path) -> None:
    own = ("x.npy,y.npy", "--clean", "cifar10", "--figure", "features,loss-by-level", "--layers", "4")
    ran = tent(folder, "analyse", "nets.py:net", *own, *SMALL, "--out", "own")
    assert ran.returncode == 0, ran.stderr
    assert (folder / "own" / "features-distances.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("x.npy", "--figure", "calibration"), "calibration: needs labels, and the data have none"),
        (("x.npy,y.npy", "--figure", "histogram"), "no figure is called 'histogram'; there are error-by-entropy"),
        (("x.npy,y.npy", "--figure", "features"), "features: compares with original data; pass --clean"),
        (("x.npy,y.npy", "--corruption", "fog"), "has no types of corruption; leave out --corruption"),
        (("cifar10-c", "--severity", "6"), "--severity takes levels from 1 to 5, such as 1,3,5; got '6'"),
        (("cifar10-c", "--corruption", "snow"), "snow.npy: no such file"),
        (("x.npy,y.npy", "--figure", "movement", "--method", "bn"), "movement: nothing moves under BN"),
        (("x.npy,y.npy", "--method", "eata"), "needs source data, which an analysis does not show it"),
        (("x.npy", "--clean", "nowhere/"), "nowhere/: there is no such folder"),
        (("x.npy,y.npy", "--clean", "cifar10", "--figure", "features", "--layers", "1,9.x"), "has no layer '9.x'"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    ran = tent(folder, "analyse", "nets.py:net", *arguments, *SMALL, "--out", "refused")
    assert ran.returncode == 2
    assert words in ran.stderr.splitlines()[-1]
    assert ran.stderr.splitlines()[-1].startswith("tent: ")
    assert not (folder / "refused").exists()


def test_a_model_without_batch_norm_is_analysed_without_bn(folder: Path) -> None:
    ran = tent(folder, "analyse", "nets.py:plain", "x.npy,y.npy", "--figure", "calibration", *SMALL, "--out", "plain")
    assert ran.returncode == 0, ran.stderr
    assert "warning: figures are without BN" in ran.stderr
    summary = json.loads((folder / "plain" / "calibration.json").read_text(encoding="utf-8"))["summary"]
    assert list(summary) == ["Source", "Tent"]


def test_what_a_model_or_method_cannot_show_is_left_out_and_the_rest_is_written(folder: Path) -> None:
    own = ("x.npy,y.npy", "--clean", "cifar10", "--method", "lame")
    ran = tent(folder, "analyse", "nets.py:bare", *own, *SMALL, "--out", "lame")
    assert ran.returncode == 0, ran.stderr
    assert "left out: movement nothing moves under LAME" in ran.stderr
    assert "left out: features are of norm layers, and the model has none" in ran.stderr
    assert {path.stem for path in (folder / "lame").glob("*.json")} == set(FIGURES) - {"movement"}


@pytest.mark.parametrize(
    ("net", "more", "words"),
    [
        ("net", ("--layers", "9.x"), "has no layer '9.x'"),
        ("net", ("--layers", "0"), "layers 0: give 1 or more"),
        ("pixels", (), "nets.py:pixels answers for every pixel; figures are of models with one class an image"),
    ],
)
def test_what_cannot_be_drawn_is_known_before_a_batch_is_run(
    folder: Path, net: str, more: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: object) -> None:
        raise AssertionError("a batch was run")

    monkeypatch.setattr("tent.apps.analyse.analyse", never)
    ran = tent(folder, "analyse", f"nets.py:{net}", "x.npy,y.npy", "--clean", "cifar10", *SMALL, *more)
    assert ran.returncode == 2
    assert words in ran.stderr


def write_images(images: Path, root: Path, prefix: str = "a") -> None:
    """Write forty images as files, one folder a class."""
    from PIL import Image

    for i, pixels in enumerate(np.load(images)[:40]):
        path = root / str(i % 10) / f"{prefix}{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)


def analyse_pair(folder: Path, own: Path, clean: Path, out: Path, *more: str) -> Ran:
    """Analyse images of one's own beside clean ones, both in folders."""
    choices = ("--clean", str(clean), "--classes", "sorted", *SMALL, "--out", str(out), *more)
    return tent(folder, "analyse", "nets.py:net", str(own), *choices)


def test_offline_passes_come_before_the_answers_and_the_protocol_says_so(folder: Path) -> None:
    own = ("cifar10-c", "--corruption", "fog", "--severity", "5", "--figure", "calibration,features")
    summaries = {}
    for epochs in ("0", "2"):
        ran = tent(
            folder,
            "analyse",
            "nets.py:net",
            *own,
            *SMALL,
            "--lr",
            "0.1",
            "--epochs",
            epochs,
            "--out",
            f"epochs{epochs}",
        )
        assert ran.returncode == 0, ran.stderr
        for name in ("calibration", "features"):
            about = json.loads((folder / f"epochs{epochs}" / f"{name}.json").read_text(encoding="utf-8"))
            when = about["protocol"]["Tent"]["when"]
            due = (
                "online: one pass" if epochs == "0" else "offline: 2 passes of learning, then answers without learning"
            )
            assert when == due
        summaries[epochs] = json.loads((folder / f"epochs{epochs}/calibration.json").read_text())["summary"]
    assert summaries["0"]["Source"] == summaries["2"]["Source"]
    assert summaries["0"]["Tent"] != summaries["2"]["Tent"]


def test_a_folder_called_original_stands_beside_the_original_data(folder: Path, tmp_path: Path) -> None:
    write_images(folder / "x.npy", tmp_path / "original")
    write_images(folder / "x.npy", tmp_path / "clean")
    ran = analyse_pair(
        folder,
        tmp_path / "original",
        tmp_path / "clean",
        tmp_path / "out",
        "--figure",
        "error-by-type",
        "--limit",
        "30",
    )
    assert ran.returncode == 0, ran.stderr
    about = json.loads((tmp_path / "out/error-by-type.json").read_text(encoding="utf-8"))
    assert about["domains"] == {"original": 30, "folder original": 30}


def test_pairs_of_which_one_cannot_be_read_are_left_out_on_both_sides(folder: Path, tmp_path: Path) -> None:
    for name in ("dark", "light", "dark whole", "light whole"):
        write_images(folder / "x.npy", tmp_path / name)
    broken = {"dark": "3/a3.png", "light": "7/a27.png"}
    for name, file in broken.items():
        (tmp_path / name / file).write_bytes(b"no image")
        for whole in ("dark whole", "light whole"):
            (tmp_path / whole / file).unlink()
            (tmp_path / whole / file).write_bytes(b"no image")
    for names, out in ((("dark", "light"), "some"), (("dark whole", "light whole"), "same")):
        ran = analyse_pair(folder, *(tmp_path / name for name in names), tmp_path / out, "--method", "bn")
        assert ran.returncode == 0, ran.stderr
    rows = {out: (tmp_path / out / "features.csv").read_text() for out in ("some", "same")}
    assert rows["some"] == rows["same"]
    about = json.loads((tmp_path / "some/features.json").read_text(encoding="utf-8"))
    said = "features are without 2 of 40 pairs, of which one image cannot be read: 3/a3.png, 7/a27.png"
    assert said in about["warnings"]
    assert f"warning: {said}" in ran.stderr


def test_clean_images_of_which_none_can_be_read_are_refused_before_the_work(folder: Path, tmp_path: Path) -> None:
    write_images(folder / "x.npy", tmp_path / "dark")
    for path in (tmp_path / "dark").rglob("*.png"):
        other = tmp_path / "light" / path.relative_to(tmp_path / "dark")
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_bytes(b"no image")
    ran = analyse_pair(folder, tmp_path / "dark", tmp_path / "light", tmp_path / "out")
    assert ran.returncode == 2
    assert "folder light: none of its images can be read; " in ran.stderr.splitlines()[-1]


def test_folders_of_other_images_are_not_taken_for_pairs(folder: Path, tmp_path: Path) -> None:
    for name, prefix in (("dark", "a"), ("light", "a"), ("others", "b")):
        write_images(folder / "x.npy", tmp_path / name, prefix)
    for clean, paired in (("light", True), ("others", False)):
        ran = analyse_pair(
            folder, tmp_path / "dark", tmp_path / clean, tmp_path / f"to {clean}", "--figure", "features"
        )
        assert ran.returncode == 0, ran.stderr
        with (tmp_path / f"to {clean}" / "features.csv").open(encoding="utf-8") as file:
            assert all(bool(row["cka to clean"]) == paired for row in csv.DictReader(file))


def test_sets_are_shuffled_and_labels_in_runs_are_warned_of(folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(1).integers(0, 256, (200, 32, 32, 3), dtype=np.uint8))
    np.save(tmp_path / "y.npy", np.arange(200) // 20)  # class after class
    own = (f"{tmp_path / 'x.npy'},{tmp_path / 'y.npy'}", "--figure", "calibration", "--batch", "20", "--size", "32")
    ran = tent(folder, "analyse", "nets.py:net", *own, "--out", str(tmp_path / "sorted"))
    assert ran.returncode == 0
    assert "classes come in runs along this stream" in ran.stderr
    assert "--order shuffled" in ran.stderr
    ran = tent(folder, "analyse", "nets.py:net", *own, "--order", "shuffled", "--out", str(tmp_path / "shuffled"))
    assert "classes come in runs" not in ran.stderr
    named = ("cifar10-c", "--corruption", "fog", "--severity", "5", "--figure", "calibration", *SMALL)
    assert tent(folder, "analyse", "nets.py:net", *named, "--out", str(tmp_path / "named")).returncode == 0
    protocol = json.loads((tmp_path / "named" / "calibration.json").read_text())["protocol"]["Tent"]
    assert protocol["order"].startswith("shuffled by seed 0")


def compare_own(folder: Path, out: Path, *more: str) -> tuple[Ran, list[dict[str, str]]]:
    """Compare features of arrays of one's own with a set, and return the rows too."""
    own = ("x.npy,y.npy", "--clean", "cifar10", "--figure", "features", "--out", str(out))
    ran = tent(folder, "analyse", "nets.py:net", *own, *SMALL, *more)
    assert ran.returncode == 0, ran.stderr
    with (out / "features.csv").open(encoding="utf-8") as file:
        return ran, list(csv.DictReader(file))


def test_rows_of_one_s_own_arrays_are_pairs_only_where_the_user_says_so(folder: Path, tmp_path: Path) -> None:
    ran, rows = compare_own(folder, tmp_path / "apart")
    assert not any(row["cka to clean"] for row in rows)
    assert "features are without CKA to clean: npy x.npy and cifar10 test" in ran.stderr
    assert "pass --paired if row i of both is the same image" in ran.stderr
    ran, rows = compare_own(folder, tmp_path / "paired", "--paired")
    assert all(row["cka to clean"] for row in rows)
    assert "CKA" not in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("x.npy,y.npy", "--paired"), "--paired is of the data and of --clean; pass --clean too"),
        (("few.npy", "--clean", "cifar10", "--paired"), "row i of both must show the same image"),
        (("x.npy,y.npy", "--layers", ","), "--layers names no layer; give a number of norm layers, or names"),
        (
            ("x.npy,y.npy", "--method", "source", "--figure", "change-of-loss"),
            "change-of-loss: compares two methods, and Source is the only one; choose another",
        ),
        (
            ("x.npy,y.npy", "--clean", "cifar10", "--method", "cotta:views=1", "--figure", "features"),
            "features: CoTTA runs layer '1' ",
        ),
    ],
)
def test_choices_that_contradict_each_other_are_refused(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    np.save(folder / "few.npy", np.load(folder / "x.npy")[:50])
    ran = tent(folder, "analyse", "nets.py:net", *arguments, *SMALL, "--out", "refused")
    assert ran.returncode == 2
    assert words in ran.stderr.splitlines()[-1]
    assert not (folder / "refused").exists()


def test_methods_of_several_passes_and_the_source_alone_are_drawn_without_what_they_cannot_show(
    folder: Path, tmp_path: Path
) -> None:
    own = ("x.npy,y.npy", "--clean", "cifar10", *SMALL)
    ran = tent(folder, "analyse", "nets.py:net", *own, "--method", "cotta:views=1", "--out", str(tmp_path / "cotta"))
    assert ran.returncode == 0, ran.stderr
    assert "warning: left out: features CoTTA runs layer '1' " in ran.stderr
    assert {path.stem for path in (tmp_path / "cotta").glob("*.json")} == set(FIGURES)
    ran = tent(folder, "analyse", "nets.py:net", *own, "--method", "source", "--out", str(tmp_path / "source"))
    assert ran.returncode == 0, ran.stderr
    assert "warning: left out: change-of-loss compares two methods" in ran.stderr
    assert {path.stem for path in (tmp_path / "source").glob("*.json")} == {*FIGURES, "features"} - {
        "change-of-loss",
        "movement",
    }


def test_the_protocol_is_of_the_models_and_streams_that_a_figure_is_of(run: Path) -> None:
    read = {name: json.loads((run / f"{name}.json").read_text(encoding="utf-8")) for name in ("stream", "features")}
    assert list(read["stream"]["protocol"]) == ["Source", "BN", "Tent"]
    words = read["stream"]["protocol"]["Tent"]
    assert words["data"].startswith("cifar10-c: 10 domains, from fog 1 to contrast 5; the first is [")
    assert words["images"] == "400, in 10 domains"
    assert list(read["features"]["protocol"]) == ["Source", "BN", "Tent", "Oracle"]
    words = read["features"]["protocol"]["Tent"]
    assert "fog severity 5" in words["data"]
    assert words["images"] == "40"
    assert words["updates"] == "2 batches updated on, 0 skipped"
    assert read["features"]["domains"] == {"original": 40, "fog 5": 40}


def test_a_failure_in_features_loses_no_other_figure(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object, **more: object) -> None:
        raise ValueError("no features")

    monkeypatch.setattr("tent.apps.analyse.compare_features", fail)
    own = ("x.npy,y.npy", "--clean", "cifar10", "--figure", "features,calibration", *SMALL, "--out", str(tmp_path))
    ran = tent(folder, "analyse", "nets.py:net", *own)
    assert ran.returncode == 2
    assert (tmp_path / "calibration.png").is_file()


def test_without_matplotlib_it_is_said_once_that_there_are_no_pictures(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tent.apps.analyse.has_matplotlib", lambda: False)
    own = ("x.npy,y.npy", "--figure", "calibration,stream", *SMALL, "--out", str(tmp_path))
    ran = tent(folder, "analyse", "nets.py:net", *own)
    assert ran.returncode == 0
    assert ran.stderr.count("pictures are left out") == 1
    assert not list(tmp_path.glob("*.png"))


def test_the_title_names_the_file_of_images_and_not_that_of_labels() -> None:
    streams = {Domain("x.npy"): Stream(list(torch.zeros(40, 3, 8, 8)), 20)}
    assert make_title("r26", "/a/x.npy,/a/y.npy", streams, 0, 0.1) == "r26 on x.npy, 40 images, online, rate 0.1"
