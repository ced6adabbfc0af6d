"""`tent bench`, as a person runs it, on small sets in the published layouts."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from command import tent
from PIL import Image
from rich.console import Console
from safetensors.torch import save_file

from tent.bench.execute.run_case import failure, run_case
from tent.bench.store import Store
from tent.bench.suites import SUITES, by_name
from tent.cli.bench_view import LiveTable
from tent.data.corruptions import BENCHMARK, CORRUPTIONS, HELD_OUT
from tent.data.sets.catalog import SETS
from tent.data.sets.pacs import PACS
from tent.models import zoo

ALL = 15 * 8 + 4 * 6  # the table of one model, and what PL's threshold is chosen on


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with nets, and TENT_DATA with a small CIFAR-10-C."""
    monkeypatch.setenv("TENT_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "cifar10-c").mkdir(parents=True)
    generator = np.random.default_rng(0)
    np.save(tmp_path / "data" / "cifar10-c" / "labels.npy", np.tile(np.arange(20) % 10, 5))
    for name in CORRUPTIONS:
        images = generator.integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
        np.save(tmp_path / "data" / "cifar10-c" / f"{name}_5.npy", images)
    return tiny.laid_out(tmp_path)


def test_without_a_suite_all_are_listed(folder: Path) -> None:
    ran = tent(folder, "bench")
    assert ran.returncode == 0
    for name in ("cifar10-c", "digits", "ablation", "generalise", "imagenet-c", "visda-c"):
        assert name in ran.stdout
    assert not (folder / "results").exists()


def test_a_table_from_one_command_and_then_nothing_to_do(folder: Path) -> None:
    arguments = ("bench", "cifar10-c", "--model", "nets.py:ten")
    ran = tent(folder, *arguments)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"cifar10-c: {ALL} of {ALL} cases done (0 before), in results\n"
    assert ran.stderr.splitlines()[-1].startswith(f"[{ALL}/{ALL}] PL offline on ")  # RG, UDA-SS and TTT are of others
    results = Store(folder / "results").all()
    assert len(results) == ALL
    chosen = {result.case.options["threshold"] for result in results if result.choices}
    assert len(chosen) == 1
    again = tent(folder, *arguments)
    assert again.stdout == f"cifar10-c: {ALL} of {ALL} cases done ({ALL} before), in results\n"
    other = tent(folder, *arguments, "--limit", "10", "--dry-run")
    assert f"0 of {ALL} cases are done" in " ".join(other.stdout.split())
    seeds = tent(folder, *arguments, "--seeds", "0,1", "--dry-run")
    assert f"{ALL} of {ALL + 120} cases are done" in " ".join(seeds.stdout.split())


def test_some_rows_alone_are_run(folder: Path) -> None:
    arguments = ("bench", "cifar10-c", "--model", "nets.py:ten")
    ran = tent(folder, *arguments, "--rows", "source,tent*")
    assert ran.stdout == "cifar10-c: 45 of 45 cases done (0 before), in results\n", ran.stderr
    methods = {result.case.method for result in Store(folder / "results").all()}
    assert methods == {"source", "tent"}  # and no candidates of PL's threshold


def test_a_dry_run_says_what_would_run_and_runs_nothing(folder: Path) -> None:
    arguments = ("bench", "cifar10-c", "--model", "nets.py:ten", "--dry-run", "--limit", "10")
    ran = tent(folder, *arguments)
    assert ran.returncode == 0, ran.stderr
    assert not (folder / "results").exists()
    rows = dict(re.findall(r"│ (\S[^│]*?) +│ (\d+ +│ +[\d,]+ +│ [^│]*?) +│", ran.stdout))
    assert set(rows) >= {"Source", "BN", "PL", "Tent", "Tent offline", "PL 0.99"}
    assert rows["Source"].split("│")[0].strip() == "15"
    assert all(row.endswith("unknown") for row in rows.values())
    assert "time left unknown" in " ".join(ran.stdout.split())
    assert tent(folder, *arguments[:-3], "--limit", "20").returncode == 0
    measured = tent(folder, *arguments).stdout
    assert "unknown" not in measured
    assert re.search(r"about \d+ s left", " ".join(measured.split()))


def test_a_case_that_fails_is_said_and_the_exit_code_is_1(folder: Path) -> None:
    (folder / "data" / "cifar10-c" / "fog_5.npy").unlink()
    ran = tent(folder, "bench", "cifar10-c", "--model", "nets.py:ten", "--limit", "4")
    assert ran.returncode == 1
    assert f"{ALL - 8} of {ALL} cases done (0 before), 8 failed" in ran.stdout
    assert "tent: Source on fog, seed 0 failed: " in ran.stderr
    assert "tent data make cifar10-c" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "no suite 'nope'; there are cifar10-c"),
        (["cifar10-c", "--seeds", "a"], "--seeds 'a': give whole numbers"),
        (["cifar10-c", "--seeds", "-1"], "a seed is 0 or more"),
        (["cifar10-c", "--limit", "0"], "--limit"),
        (["cifar10-c", "--rows", "Tend"], "cifar10-c has no row 'Tend'; it has Source"),
        (["cifar10-c", "--workers", "0"], "--workers"),
        (["cifar10-c", "--model", "nope"], "no model 'nope'"),
        (["cifar10-c", "--weights", "gone.pt"], "gone.pt: there is no such file of weights"),
        (["cifar100-c", "--model", "nets.py:ten"], "cifar100-c"),
        (["imagenet-c", "--model", "nets.py:thousand"], "imagenet-c"),
        (["digits", "--model", "nets.py:ten"], "mnist"),
    ],
)
def test_what_a_user_can_mend_is_one_line_and_exit_code_2(folder: Path, arguments: list[str], message: str) -> None:
    ran = tent(folder, "bench", *arguments)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert message in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not (folder / "results").exists()


def test_ctrl_c_ends_in_one_line_and_the_same_command_goes_on(folder: Path) -> None:
    nets = tiny.NETS.replace("return Net(10)", "return Slow(10)")
    # slower still once there is something to find, or all would be over where this process does not get its turn
    nets = nets.replace("time.sleep(0.08)", "time.sleep(0.08 if len(os.listdir('results')) < 4 else 5)")
    (folder / "nets.py").write_text(nets)
    (folder / "results").mkdir()
    command = [sys.executable, "-m", "tent.cli", "bench", "cifar10-c", "--model", "nets.py:ten", "--workers", "2"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # whoever runs these tests in the background may have told all processes not to hear ctrl-c
    hears = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    ran = subprocess.Popen(command, cwd=folder, start_new_session=True, preexec_fn=hears, **pipes)
    end = time.monotonic() + 60
    while len(list((folder / "results").glob("*.json"))) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    os.killpg(ran.pid, signal.SIGINT)  # as a terminal does, to all of them
    out, err = ran.communicate(timeout=60)
    assert ran.returncode == 130, err
    assert out == ""
    lines = [line for line in err.splitlines() if not line.startswith("[")][1:]
    assert len(lines) == 1, err
    assert re.fullmatch(
        rf"tent: stopped; \d+ of {ALL} cases done \(0 before\); the same command goes on from here", lines[0]
    )
    kept = len(list((folder / "results").glob("*.json")))
    assert 2 <= kept < ALL
    dry = tent(folder, *command[3:-2], "--dry-run")
    assert f"{kept} of {ALL} cases are done" in " ".join(dry.stdout.split())


def tree(folder: Path, classes: int, images: int) -> None:
    generator = np.random.default_rng(0)
    for number in range(classes):
        (folder / f"n{number:08}").mkdir(parents=True)
    for number in range(images):
        pixels = generator.integers(0, 256, (24, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"n{number * 7:08}" / f"ILSVRC2012_val_{number}.JPEG")


def test_imagenet_c_in_its_published_layout(folder: Path) -> None:
    tree(folder / "data" / "ImageNet-C" / "fog" / "5", 1000, 6)
    entry = zoo.load("timm:resnet10t", pretrained=False)
    save_file(entry.model.state_dict(), folder / "w.safetensors")
    model = ("--model", "timm:resnet10t", "--weights", "w.safetensors")
    ran = tent(folder, "bench", "imagenet-c", *model)
    assert ran.returncode == 1
    assert "4 of 99 cases done (0 before), 95 failed" in ran.stdout
    done = [result for result in Store(folder / "results").all() if result.error is None]
    assert {result.case.data[0].corruption for result in done} == {"fog"}
    tent_ = next(result for result in done if result.case.method == "tent" and result.case.when == "online")
    assert (tent_.protocol["optimizer"], tent_.protocol["lr"], tent_.protocol["momentum"]) == ("SGD", "0.00025", "0.9")
    assert "imagenet-c fog severity 5 (6 of the published 50,000 images)" in tent_.protocol["data"]
    assert "; resized to 176x176 (bicubic), " in tent_.protocol["data"]  # crops are not cropped again
    assert tent_.images == 6


def test_imagenet_c_with_all_its_types(folder: Path) -> None:
    shared = folder / "shared"
    tree(shared, 1000, 6)
    for type_ in (*BENCHMARK, *HELD_OUT):
        (folder / "data" / "imagenet-c" / type_).mkdir(parents=True)
        (folder / "data" / "imagenet-c" / type_ / "5").symlink_to(shared)
    ran = tent(folder, "bench", "imagenet-c", "--model", "nets.py:thousand", "--limit", "4")
    assert ran.returncode == 0, ran.stderr
    assert "99 of 99 cases done" in ran.stdout


def visda(folder: Path) -> None:
    generator, lines = np.random.default_rng(0), []
    for number in range(12):
        path = folder / f"class{number}" / "a.png"
        path.parent.mkdir(parents=True)
        Image.fromarray(generator.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)
        lines.append(f"class{number}/a.png {number}\n")
    (folder / "image_list.txt").write_text("".join(lines))


def test_visda_c_in_its_published_layout(folder: Path) -> None:
    visda(folder / "data" / "visda-c" / "validation")
    ran = tent(folder, "bench", "visda-c", "--model", "nets.py:twelve")
    assert ran.returncode == 0, ran.stderr
    assert "6 of 6 cases done" in ran.stdout
    assert {result.images for result in Store(folder / "results").all()} == {12}


def test_visda_c_without_a_model_of_its_classes_says_how_one_is_trained(folder: Path) -> None:
    visda(folder / "data" / "visda-c" / "validation")
    ran = tent(folder, "bench", "visda-c")
    assert ran.returncode == 2
    assert "make it with: tent train --model timm:resnet50.tv_in1k --source visda-c" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_pacs_on_every_domain(folder: Path) -> None:
    generator = np.random.default_rng(0)
    for known in PACS:
        for number, name in enumerate((known.class_names or ()) * 10):
            path = folder / "data" / known.folder / name / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(generator.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)
    ran = tent(folder, "bench", "pacs", "--model", "nets.py:seven")
    assert ran.returncode == 0, ran.stderr
    assert "40 of 40 cases done" in ran.stdout
    results = Store(folder / "results").all()
    assert {(result.case.data[0].name, result.images) for result in results} == {
        *((f"pacs-{name}", 70) for name in ("art-painting", "cartoon", "sketch")),
        ("pacs-photo", 7),
    }
    moved = {result.case.select: result.protocol["moves"] for result in results if result.case.method == "tent"}
    assert moved == {
        None: "16 parameters in 2 tensors",
        "feature_layers": "240 parameters in 4 tensors",  # a convolution of 8·3·9 + 8, and its norm
    }


def test_test_sets_collected_anew_run_on_small_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, generator = folder / "data" / "cifar10.1", np.random.default_rng(0)
    small.mkdir()
    np.save(small / "cifar10.1_v6_data.npy", generator.integers(0, 256, (12, 32, 32, 3), dtype=np.uint8))
    np.save(small / "cifar10.1_v6_labels.npy", np.arange(12, dtype=np.int32) % 10)
    for label, name in product(range(5), "ab"):
        path = folder / "data/imagenetv2/imagenetv2-matched-frequency-format-val" / str(label) / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(path)
    monkeypatch.setitem(SETS, "imagenetv2", replace(SETS["imagenetv2"], classes=5))
    load, net = zoo.load, zoo.load(f"{folder / 'nets.py'}:net")
    monkeypatch.setattr(zoo, "load", lambda name, *given: net if name.startswith("timm:") else load(name, *given))
    ran = tent(folder, "bench", "natural")
    assert ran.returncode == 0, ran.stderr
    assert "6 of 6 cases done" in ran.stdout
    results = Store(folder / "results").all()
    assert {(result.case.model, result.case.data[0].name, result.images) for result in results} == {
        ("r26-cifar10", "cifar10.1", 12),
        ("timm:resnet50.tv_in1k", "imagenetv2", 10),
    }
    table = tent(folder, "table", "natural").stdout
    assert all(word in table for word in ("CIFAR-10.1", "ImageNetV2", "Source", "BN", "Tent"))


def test_a_model_of_other_classes_is_refused(folder: Path) -> None:
    visda(folder / "data" / "visda-c" / "validation")
    save_file(zoo.load("timm:resnet10t", pretrained=False).model.state_dict(), folder / "w.safetensors")
    ran = tent(folder, "bench", "visda-c", "--model", "timm:resnet10t", "--weights", "w.safetensors")
    assert ran.returncode == 2
    assert "has 12 classes, but timm:resnet10t answers with 1000" in ran.stderr


def test_the_live_table_shows_what_is_done_running_failed_and_left(folder: Path) -> None:
    board = tiny.board(folder, "broken")
    good, bad, running = board.take(), board.take(), board.take()
    assert good
    assert bad
    assert running
    board.end(good, run_case(good.case))
    board.end(bad, failure(bad.case, "too bright"))
    other = board.take()
    assert other
    board.note_share(other, 0.25)
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=120, file=nowhere)
        console.print(LiveTable(board))
        text = console.export_text()
    numbers = next(line for line in text.splitlines() if "1/8" in line)
    assert [part.strip() for part in numbers.split("│")[1:-2]] == ["1/8", "2", "1", "4"]
    assert re.search(r"BN on dark, seed 0: running for \d+ s", text)
    assert re.search(r"BN on bright, seed 0: 25% done after \d+ s", text)
    assert "Source on dark, seed 0: error " in text
    assert "time left unknown" in numbers  # nothing like BN and Tent was measured


@pytest.mark.real_data
def test_digits_on_the_real_data(real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENT_DATA", str(real_data))
    cell = next(cell for cell in by_name("digits").cells((0,), 256) if (cell.row, cell.column) == ("Source", "USPS"))
    result = run_case(cell.case)
    assert 0 < result.metrics["error"] < 0.5
    assert "resized to 32x32 (bilinear)" in result.protocol["data"]


@pytest.mark.real_data
def test_the_example_of_the_docs(real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENT_DATA", str(real_data))
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(code, {})
    assert [result.images for result in Store(tmp_path / "results").all()] == [256]


def test_the_docs_name_every_suite() -> None:
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    missing = [name for name in SUITES if f"| `{name}` |" not in page and not name.startswith("cifar100-c-")]
    assert not missing
