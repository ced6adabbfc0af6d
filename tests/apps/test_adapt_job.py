"""A practitioner's run: everything that it writes, and everything that it refuses, as one line."""

import csv
import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from command import tent
from filelock import FileLock
from PIL import Image
from safetensors.torch import load_file

from tent.apps.out_folder import OutFolder

NETS = """
import torch
from torch import nn

def net(classes=4):
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(8, classes))

def slow():
    import os
    import time
    class Slow(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net()
        def forward(self, x):
            if os.path.exists('slowly'):
                time.sleep(0.1)
            return self.net(x)
    return Slow()

def fixed():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8, 4))

def two():
    return net(2)

def unknown():
    return missing

class Fails(nn.Module):
    def forward(self, x):
        return {"output": x}["logits"]

def fails():
    return nn.Sequential(nn.BatchNorm2d(3), Fails())

class TwoHeads(nn.Module):
    shared = ("trunk",)

    def __init__(self):
        super().__init__()
        self.trunk, self.classes = nn.Sequential(nn.Conv2d(3, 8, 4, stride=4), nn.GroupNorm(2, 8)), nn.Linear(128, 4)
        self.rotation = nn.Linear(128, 4)

    def forward(self, x, head="classes"):
        return getattr(self, head)(self.trunk(x).flatten(1))
"""


def line(text: str) -> int:
    return next(number for number, each in enumerate(NETS.splitlines(), 1) if text in each)


METHOD = """
from dataclasses import dataclass

import tent


@dataclass(frozen=True, repr=False)
class Sharpen(tent.Method):
    strength: float = 1.0
    name: str = "plain"

    select = staticmethod(tent.select.norm_affine)
    stats = tent.norm.Batch()

    def __post_init__(self):
        if self.strength <= 0:
            raise ValueError(f"strength must be above 0, got {self.strength}")

    def loss(self, seen, state):
        return self.strength * tent.losses.entropy(seen.logits).mean()


class Answers(tent.Method):
    def answer(self, seen, state):
        return seen.output


class Needy(Sharpen):
    needs = {"source data"}

    def prepare(self, state, batches):
        state.tensors["shown"] = sum(seen.logits.new_tensor(float(len(seen.logits))) for seen in batches)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "own.py").write_text(METHOD)
    (tmp_path / "wrong.py").write_text("class Mine(")
    np.save(tmp_path / "x.npy", random.integers(0, 255, (70, 16, 16, 3), dtype=np.uint8))
    np.save(tmp_path / "y.npy", random.integers(0, 4, 70))
    for i in range(6):
        (tmp_path / "photos").mkdir(exist_ok=True)
        Image.fromarray(random.integers(0, 255, (16, 16, 3), dtype=np.uint8)).save(tmp_path / "photos" / f"{i}.png")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "0.png").write_bytes(b"not a picture")
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tent.cli", "adapt", *arguments]


def done(folder: Path, *arguments: str) -> dict[str, object]:
    ran = tent(folder, "adapt", *arguments, "--overwrite")
    assert ran.returncode == 0, ran.stderr
    return json.loads((folder / "adapted" / "summary.json").read_text())


def test_online_with_labels_writes_everything(folder: Path) -> None:
    summary = done(folder, "nets.py:net", "x.npy,y.npy", "--batch", "32", "--order", "shuffled", "--seed", "1")
    written = sorted(path.name for path in (folder / "adapted").iterdir())
    assert written == ["delta.safetensors", "predictions.csv", "summary.json", "summary.png"]
    with (folder / "adapted" / "predictions.csv").open() as file:
        rows = list(csv.DictReader(file))
    y = np.load(folder / "y.npy")
    assert len(rows) == 70
    assert len({row["file"] for row in rows}) == 70
    wrong = np.mean([int(row["class"]) != int(row["label"]) for row in rows])
    assert summary["error_after"] == pytest.approx(wrong)
    assert sorted(int(row["label"]) for row in rows) == sorted(y.tolist())
    assert summary["changed"] == pytest.approx(np.mean([row["class"] != row["class_before"] for row in rows]))
    assert summary["entropy_after"] == pytest.approx(np.mean([float(row["entropy"]) for row in rows]), abs=1e-5)
    assert sum(summary["histogram_after"].values()) == 70  # type: ignore[attr-defined]
    assert (summary["updates"], summary["skipped"]) == (3, 0)
    assert summary["protocol"]["updates"] == "3 batches updated on, 0 skipped"  # type: ignore[index]
    assert summary["protocol"]["order"].startswith("shuffled by seed 1")  # type: ignore[index]
    assert "shuffled by seed 1" in summary["protocol"]["data"]  # type: ignore[index]
    assert set(load_file(folder / "adapted" / "delta.safetensors")) == {"1.weight", "1.bias"}
    with Image.open(folder / "adapted" / "summary.png") as picture:
        assert min(picture.size) > 300


def test_a_folder_without_labels_offline_as_parquet(folder: Path) -> None:
    import pyarrow.parquet

    summary = done(
        folder, "nets.py:net", "photos", "--epochs", "2", "--batch", "3", "--stats", "prior:4", "--table", "parquet"
    )
    assert "error_after" not in summary
    assert summary["protocol"]["order"].startswith("by the number in their names")  # type: ignore[index]
    assert summary["protocol"]["when"].startswith("offline: 2 passes of learning")  # type: ignore[index]
    assert summary["updates"] == 4
    rows = pyarrow.parquet.read_table(folder / "adapted" / "predictions.parquet").to_pylist()
    assert [Path(row["file"]).name for row in rows] == [f"{i}.png" for i in range(6)]
    assert all(row["label"] is None for row in rows)


def test_image_by_image(folder: Path) -> None:
    summary = done(folder, "nets.py:net", "x.npy", "--episodic", "--steps", "3", "--limit", "4")
    assert summary["images"] == 4
    assert summary["updates"] == 4
    assert summary["protocol"]["when"].startswith("episodic")  # type: ignore[index]


@pytest.mark.parametrize(
    ("options", "copies", "updates"),
    [(["--method", "ttt", "--batch", "4"], 1, 2), (["--method", "ttt:5", "--episodic"], 5, 8)],
)
def test_test_time_training(folder: Path, options: list[str], copies: int, updates: int) -> None:
    summary = done(folder, "nets.py:TwoHeads", "x.npy", "--limit", "8", *options)
    protocol = summary["protocol"]
    assert protocol["method"].startswith(f"TTT(copies={copies}, ")  # type: ignore[index]
    assert protocol["answers"] == "after the update"  # type: ignore[index]
    assert summary["updates"] == updates
    moved = {f"trunk.{layer}.{own}" for layer in (0, 1) for own in ("weight", "bias")}
    assert set(load_file(folder / "adapted" / "delta.safetensors")) == moved


def test_a_method_of_ones_own_in_a_file(folder: Path) -> None:
    plain = done(folder, "nets.py:net", "x.npy,y.npy", "--batch", "32", "--lr", "0.1")
    moved = load_file(folder / "adapted" / "delta.safetensors")
    own = done(folder, "nets.py:net", "x.npy,y.npy", "--batch", "32", "--lr", "0.1", "--method", "own.py:Sharpen:2.5")
    assert own["protocol"]["method"] == "Sharpen(strength=2.5, name=plain)"  # type: ignore[index]
    assert own["updates"] == plain["updates"] == 3
    # Adam does not see the scale of a loss, but for its epsilon
    again = load_file(folder / "adapted" / "delta.safetensors")
    assert all(torch.allclose(moved[name], again[name], atol=1e-3) for name in moved)


def test_options_of_a_method_by_name(folder: Path) -> None:
    words = "own.py:Sharpen:name=sharp,strength=0.5"
    protocol = done(folder, "nets.py:net", "x.npy", "--method", words)["protocol"]
    assert protocol["method"] == "Sharpen(strength=0.5, name=sharp)"  # type: ignore[index]
    words = "ttt:copies=2,shift=1,mirror=True"
    protocol = done(folder, "nets.py:TwoHeads", "x.npy", "--method", words, "--limit", "4")["protocol"]
    assert protocol["method"] == "TTT(copies=2, shift=1, mirror=True, seed=0)"  # type: ignore[index]
    protocol = done(folder, "nets.py:net", "x.npy", "--method", "pl:threshold=0.3")["protocol"]
    assert protocol["method"] == "PL(threshold=0.3)"  # type: ignore[index]


def test_a_run_goes_on_from_a_delta_and_is_baked(folder: Path) -> None:
    done(folder, "nets.py:net", "x.npy", "--lr", "0.01", "--batch", "35")
    first = load_file(folder / "adapted" / "delta.safetensors")
    (folder / "adapted" / "delta.safetensors").rename(folder / "first.safetensors")
    done(folder, "nets.py:net", "x.npy", "--delta", "first.safetensors", "--lr", "0", "--bake", "baked.pt2")
    again = load_file(folder / "adapted" / "delta.safetensors")
    assert all(torch.equal(first[name], again[name]) for name in first)
    program = torch.export.load(folder / "baked.pt2")
    assert program.module()(torch.randn(5, 3, 16, 16)).shape == (5, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope", "x.npy"], "no model 'nope'"),
        (["nets.py:net", "gone.npy"], "gone.npy: no such file"),
        (["nets.py:net", "nothing"], "nothing: there is no such folder, and no set is called 'nothing'"),
        (["nets.py:net", "/no/such/folder"], "/no/such/folder: there is no such folder"),
        (["nets.py:net", "./nothing"], "./nothing: there is no such folder"),
        (["nets.py:net", "photos/0.png"], "photos/0.png: is a file; name the folder that it is in"),
        (["nets.py:fails", "x.npy"], f"3x16x16: KeyError: 'logits' (nets.py, line {line('logits')})"),
        (["nets.py:net", "x.npy", "--device", "tpu"], "no device 'tpu' here; choose cpu"),
        (["nets.py:net", "x.npy", "--precision", "half"], "precision must be one of float32, bfloat16, float16"),
        (["nets.py:net", "x.npy", "--order", "time"], "npy x.npy: only image files have a time"),
        (["nets.py:net", "x.npy", "--order", "up"], "no order 'up'"),
        (["nets.py:net", "x.npy", "--size", "big"], "--size takes pixels such as 224"),
        (["nets.py:net", "x.npy", "--mean", "1,2"], "--mean takes three numbers"),
        (["nets.py:net", "x.npy", "--mean", "0.5"], "give both or neither"),
        (["nets.py:net", "x.npy", "--like", "timm:nope"], "timm has no model 'nope'"),
        (["nets.py:net", "x.npy", "--classes", "gone.txt"], "gone.txt: there is no such file of class names"),
        (["nets.py:net", "photos", "--out", "photos"], "photos: is the folder of the images"),
        (["nets.py:net", "x.npy", "--source-data", "photos"], "uses no source data"),
        (["nets.py:net", "x.npy", "--method", "own.py:Needy"], "needs source data: pass --source-data"),
        (["nets.py:net", "empty"], "empty"),
        (["nets.py:net", "broken"], "0.png"),
        (["nets.py:two", "x.npy,y.npy"], "has 4 classes, but nets.py:two answers with 2"),
        (["nets.py:fixed", "x.npy"], "nets.py:fixed fails on an image of npy x.npy, 3x16x16: "),
        (
            ["nets.py:unknown", "x.npy"],
            f"NameError: name 'missing' is not defined (nets.py, line {line('return missing')})",
        ),
        (["wrong.py:net", "x.npy"], "wrong.py: SyntaxError: "),
        (["nets.py:net", "x.npy", "--method", "wrong.py:Mine"], "wrong.py: SyntaxError: "),
        (["nets.py:net", "x.npy", "--method", "magic"], "no method 'magic'; there are bn, "),
        (["nets.py:net", "x.npy", "--method", "pl:x"], "'x' is not a number"),
        (["nets.py:net", "x.npy", "--method", "bn:3"], "bn takes no option"),
        (["nets.py:net", "x.npy", "--method", "ttt"], "Sequential has no rotation head for TTT to train on"),
        (["nets.py:TwoHeads", "x.npy", "--method", "ttt:2.5"], "'2.5' is not a whole number"),
        (
            ["nets.py:TwoHeads", "x.npy", "--method", "ttt:copies=2,turns=3"],
            "ttt has no option 'turns'; it has copies,",
        ),
        (["nets.py:TwoHeads", "x.npy", "--method", "ttt:mirror=maybe"], "'maybe' is not true or false"),
        (["nets.py:net", "x.npy", "--method", "gone.py:Mine"], "gone.py"),
        (["nets.py:net", "x.npy", "--method", "nets.py:Mine"], "'Mine'"),
        (["nets.py:net", "x.npy", "--method", "nets.py:TwoHeads"], "'TwoHeads'"),
        (["nets.py:net", "x.npy", "--method", "own.py:Sharpen:0"], "strength must be above 0"),
        (["nets.py:TwoHeads", "x.npy", "--method", "ttt:0"], "TTT copies must be a whole number from 1 on, got 0"),
        (["nets.py:net", "x.npy", "--stats", "magic"], "no statistics 'magic'"),
        (["nets.py:net", "x.npy", "--bake", "model.bin"], "written as .pt2"),
        (["nets.py:net", "x.npy", "--bake", "no/where.pt2"], "its folder does not exist"),
        (["nets.py:net", "x.npy", "--table", "xls"], "csv or parquet, not as 'xls'"),
        (["nets.py:net", "x.npy", "--epochs", "2", "--episodic"], "exclude each other"),
        (["nets.py:net", "x.npy", "--delta", "gone"], "gone: there is no such delta"),
        (["nets.py:net", "x.npy", "--corruption", "fog"], "no option corruption"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(folder: Path, arguments: list[str], message: str) -> None:
    ran = tent(folder, "adapt", *arguments)
    assert ran.returncode == 2
    said = [line for line in ran.stderr.strip().splitlines() if line.startswith("tent: ")]
    assert "Traceback" not in ran.stderr
    assert len(said) == 1
    assert message in said[0]
    assert not (folder / "adapted").exists()


@pytest.mark.parametrize(
    ("lacking", "options", "message"),
    [
        ("pyarrow", ["--table", "parquet"], "Parquet needs pyarrow: pip install 'tent-tta[parquet]', or use csv"),
        ("onnx", ["--bake", "x.onnx"], "ONNX needs onnx: pip install 'tent-tta[export]', or use .pt2"),
        ("onnxscript", ["--bake", "x.onnx"], "ONNX needs onnxscript: pip install 'tent-tta[export]', or use .pt2"),
    ],
)
def test_what_is_not_installed_is_said_before_the_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, lacking: str, options: list[str], message: str
) -> None:
    monkeypatch.setitem(sys.modules, lacking, None)
    ran = tent(folder, "adapt", "no-model", "x.npy", *options)  # which would be said first, were it loaded first
    assert (ran.returncode, ran.stderr) == (2, f"tent: {message}\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "x.npy"], "x.npy: is a file; name a folder to write to"),
        (["--out", "x.npy/deeper"], "x.npy: is a file; name a folder to write to"),
        (["--bake", "folder.pt2"], "folder.pt2: is a folder; name a file"),
        (["--bake", "x.pt2", "--method", "own.py:Answers"], "Answers() answers by itself, which no baked model can"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(folder: Path, options: list[str], message: str) -> None:
    (folder / "folder.pt2").mkdir()
    ran = tent(folder, "adapt", "no-model", "x.npy", *options)
    assert (ran.returncode, ran.stderr) == (2, f"tent: {message}\n")


def test_a_folder_that_may_not_be_written_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    ran = tent(folder, "adapt", "no-model", "x.npy", "--out", "results/today")
    assert (ran.returncode, ran.stderr) == (2, "tent: results/today: may not be written to\n")


def test_model_and_images_go_to_the_best_device(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tent.environment.best_device", lambda: torch.device("meta"))  # which every machine has
    ran = tent(folder, "adapt", "nets.py:net", "x.npy")
    assert ran.returncode == 2
    assert "cannot be called on meta tensors" in ran.stderr  # it has no numbers, so that the first check ends there


def test_a_killed_run_goes_on_to_the_same_bits(folder: Path) -> None:
    words = ["nets.py:slow", "x.npy,y.npy", "--batch", "4", "--every", "0", "--order", "shuffled", "--seed", "3"]
    (folder / "slowly").touch()
    process = subprocess.Popen(
        command(*words), cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    while not enough(folder):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    (folder / "slowly").unlink()
    left = {path.name for path in (folder / "adapted").iterdir()}
    assert left <= {".lock", ".run"}  # nothing that looks whole
    other = tent(folder, "adapt", *words, "--steps", "2")
    assert other.returncode == 2
    assert "holds an unfinished run of other settings (its steps was 1, not 2)" in other.stderr
    again = tent(folder, "adapt", *words)
    assert again.returncode == 0, again.stderr
    assert re.search(r"^continuing after \d+ of \d+ batches$", again.stderr, re.MULTILINE)
    straight = tent(folder, "adapt", *words, "--out", "straight")
    assert "continuing" not in straight.stderr
    names = {path.name for path in (folder / "adapted").iterdir()}
    assert names == {path.name for path in (folder / "straight").iterdir()}
    assert ".run" not in names
    check_alike(folder)


def check_alike(folder: Path) -> None:
    for name in ("predictions.csv", "delta.safetensors", "summary.json"):
        assert (folder / "adapted" / name).read_bytes() == (folder / "straight" / name).read_bytes()


@pytest.mark.parametrize("after", [2, 5])  # in the first of two passes of learning, and while it answers
def test_a_run_that_was_stopped_goes_on_in_any_pass(folder: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    (folder / "photos" / "2.png").write_bytes(b"not a picture")
    words = ["nets.py:net", "photos", "--epochs", "1", "--batch", "1", "--stats", "prior:4"]
    words += ["--order", "shuffled", "--every", "0"]
    save = OutFolder.save

    def stop(self: OutFolder, adapted: object, done: int, *rest: object) -> None:
        save(self, adapted, done, *rest)  # type: ignore[arg-type]
        if done == after:
            raise KeyboardInterrupt

    monkeypatch.setattr(OutFolder, "save", stop)
    assert tent(folder, "adapt", *words).returncode == 130
    monkeypatch.setattr(OutFolder, "save", save)
    again = tent(folder, "adapt", *words)
    assert f"continuing after {after} of 12 batches" in again.stderr
    assert tent(folder, "adapt", *words, "--out", "straight").returncode == 0
    check_alike(folder)
    summary = json.loads((folder / "adapted" / "summary.json").read_text())
    assert list(summary["unreadable"]) == ["2.png"]
    assert (summary["images"], summary["updates"]) == (5, 5)


def enough(folder: Path) -> bool:
    """Tell whether a few batches are done, but not all."""
    return any(int(path.stem.removeprefix("state-")) >= 3 for path in (folder / "adapted" / ".run").glob("state-*"))


def test_a_folder_holds_one_run(folder: Path) -> None:
    words = ["nets.py:net", "x.npy", "--batch", "35"]
    done(folder, *words)
    first = (folder / "adapted" / "summary.json").read_bytes()
    again = tent(folder, "adapt", *words)
    assert again.returncode == 0
    assert "this run has ended before" in again.stderr
    other = tent(folder, "adapt", "nets.py:net", "x.npy", "--batch", "14")
    assert other.returncode == 2
    assert "adapted: holds a run of other settings (its batch was 35, not 14); choose another --out" in other.stderr
    assert (folder / "adapted" / "summary.json").read_bytes() == first
    (folder / "adapted" / "mine.txt").write_text("notes")
    (folder / "adapted" / ".summary.json.x.making").write_text("left by a kill")
    done(folder, "nets.py:net", "x.npy", "--batch", "14", "--table", "parquet")
    names = sorted(path.name for path in (folder / "adapted").iterdir())
    assert names == ["delta.safetensors", "mine.txt", "predictions.parquet", "summary.json", "summary.png"]


def test_the_data_or_the_code_of_a_run_may_not_change(folder: Path) -> None:
    done(folder, "nets.py:net", "x.npy")
    (folder / "nets.py").write_text(NETS + "\n# changed\n")
    assert "its code was " in tent(folder, "adapt", "nets.py:net", "x.npy").stderr
    (folder / "nets.py").write_text(NETS)
    np.save(folder / "x.npy", 255 - np.load(folder / "x.npy"))
    assert "its contents was " in tent(folder, "adapt", "nets.py:net", "x.npy").stderr


def test_files_of_unknown_origin_are_not_replaced(folder: Path) -> None:
    (folder / "adapted").mkdir()
    (folder / "adapted" / "predictions.csv").write_text("mine")
    ran = tent(folder, "adapt", "nets.py:net", "x.npy")
    assert ran.returncode == 2
    assert "adapted/predictions.csv: belongs to no run that is known" in ran.stderr
    assert [path.name for path in (folder / "adapted").iterdir()] == ["predictions.csv"]


def test_two_runs_in_one_folder_are_refused(folder: Path) -> None:
    (folder / "adapted").mkdir()
    with FileLock(folder / "adapted" / ".lock"):
        ran = tent(folder, "adapt", "nets.py:net", "x.npy")
    assert ran.returncode == 2
    assert ran.stderr.endswith("tent: adapted: another run is under way in it; choose another --out\n")


@pytest.mark.parametrize("at", ["predictions.csv", "delta.safetensors", "summary.png", "summary.json", "progress.npz"])
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    fsync = os.fsync

    def full(handle: int) -> None:
        if at in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    words = ["nets.py:net", "x.npy", "--batch", "35", "--every", "0"]
    ran = tent(folder, "adapt", *words)
    assert ran.returncode == 2
    assert "tent: adapted: No space left on device; make room there" in ran.stderr
    assert not [path for path in (folder / "adapted").rglob("*") if at in path.name]
    monkeypatch.setattr(os, "fsync", fsync)
    assert tent(folder, "adapt", *words).returncode == 0
    assert not (folder / "adapted" / ".run").exists()


def test_a_disk_with_too_little_space_is_refused_before_the_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1000))
    ran = tent(folder, "adapt", "nets.py:net", "x.npy")
    assert ran.returncode == 2
    assert re.search(r"tent: adapted: 0.0 MB are free on its disk, and 1.1 MB are needed", ran.stderr)
    assert not (folder / "adapted").exists()


def test_without_matplotlib_all_but_the_picture_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = tent(folder, "adapt", "nets.py:net", "x.npy,y.npy", "--mean", "0", "--std", "1")
    assert ran.returncode == 0
    assert ran.stderr == "warning: no picture is drawn: plots need matplotlib: pip install 'tent-tta[bench]'\n"
    written = sorted(path.name for path in (folder / "adapted").iterdir())
    assert written == ["delta.safetensors", "predictions.csv", "summary.json"]


def test_source_data_is_shown_to_a_method_that_needs_it(folder: Path) -> None:
    words = ["--method", "own.py:Needy", "--source-data", "photos", "--source-images", "5", "--batch", "35"]
    summary = done(folder, "nets.py:net", "x.npy", *words)
    assert summary["protocol"]["source data"] == "5 of photos"  # type: ignore[index]
    assert load_file(folder / "adapted" / "delta.safetensors")["prepared:shown"] == 5
