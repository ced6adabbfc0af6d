"""`tent train` as a process of its own: it outlives a kill, and bad input ends in one line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from madeset import write_set

COMMAND = [sys.executable, "-c", "from tent.cli import main; main()", "train"]
WORDS = "--model r26 --data cifar10 --epochs 8 --batch 32 --precision float32 --every 0"  # 24 steps


def environment(root: Path) -> dict[str, str]:
    return {**os.environ, "TENT_DATA": str(root), "OMP_NUM_THREADS": "1"}


@contextmanager
def tent_train(words: str, out: Path, root: Path) -> Iterator["subprocess.Popen[str]"]:
    arguments = [*COMMAND, *words.split(), "--out", str(out)]
    with subprocess.Popen(arguments, env=environment(root), stdout=-1, stderr=-1, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def steps_done(out: Path) -> int:
    path = out / "checkpoint.pt"
    return int(torch.load(path, weights_only=True)["state"]["step"]) if path.is_file() else 0


@pytest.mark.parametrize(
    ("way", "steps"),
    [
        ("", 24),
        (" --method uda-ss --target mnist --epochs 5", 15),
        (" --model timm:test_efficientnet --start random --size 32 --lr 0.01", 24),
    ],
    ids=["source", "with a target", "a library's network"],
)
def test_a_killed_run_goes_on_to_the_same_bits(root, tmp_path, target, way, steps):
    killed, whole, words = tmp_path / "killed", tmp_path / "whole", WORDS + way
    with tent_train(words, killed, root) as process:
        while steps_done(killed) < 4:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not list(killed.glob("*.json")) + list(killed.glob("*.safetensors"))
    assert 4 <= steps_done(killed) < steps

    with tent_train(words, killed, root) as again, tent_train(words, whole, root) as straight:
        said = [process.communicate()[1] for process in (again, straight)]
    assert again.returncode == straight.returncode == 0, said
    assert ["continuing after" in each for each in said] == [True, False]
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--model r27 --data cifar10", "no network 'r27'"),
        ("--model r26 --data svhn", "svhn"),
        ("--model r26 --data usps", "train_labels"),
        ("--model r26 --data cifar10 --epochs 0", "epochs must be above 0, not 0"),
        (
            "--model r26 --data cifar10 --size 0",
            "--size takes pixels such as 224, or 224x320 (height x width); got '0'",
        ),
        ("--model r26 --data cifar10 --size 4096", "size must be above 0 and below 1024, not 4096"),
        ("--model san10-pair --width 0.3 --data cifar10", "width 0.3: a SAN's is a multiple of 0.25"),
        ("--model r26 --data cifar10 --device tpu", "no device 'tpu' here"),
        ("--model r26 --source cifar10 --method dann", "no way to train called 'dann'; there are source, rg, uda-ss"),
        ("--model r26 --source cifar10 --method rg", "rg learns from a target too: name one, such as --target mnist"),
        ("--model r26 --source cifar10 --method uda-ss", "uda-ss learns from a target too"),
        ("--model r26 --source cifar10 --target mnist", "source learns from the source alone: leave out the target"),
        ("--model r26 --source cifar10 --method ttt --target mnist", "ttt learns from the source alone"),
        ("--model r26 --source cifar10 --method rg --target nowhere", "no set is called 'nowhere'"),
        ("--model r26 --source cifar10 --method rg --target cifar10-c", "write cifar10-c:TYPE"),
        ("--model r26 --source cifar10 --method rg --target mnist-m", "get it with: tent data get mnist-m"),
        ("--model r26 --source cifar10 --method rg --target svhn", "has images of 6x6, cifar10 train"),
        ("--model r26 --source cifar10 --method rg --target svhn", "--size 8 resizes them"),
        ("--model r26 --source mnist --size 8", "all labels are alike; training needs images of at least two classes"),
        ("--model r26-rotation --source cifar10", "which source does not train; choose r26"),
        ("--model r26 --source cifar10 --start r26-x", "r26-x: no such file of weights; name one, or r26-cifar10"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(root, tmp_path, target, words, line, capsys, monkeypatch):
    from tent.cli.app import run

    if "--data svhn" not in words:
        write_set(root / "svhn", side=6)
    np.save(root / "mnist" / "train_labels.npy", np.full(20, 7))
    (root / "usps").mkdir()
    (root / "usps" / "train_images.npy").write_bytes((root / "cifar10" / "train_images.npy").read_bytes())
    monkeypatch.setenv("TENT_DATA", str(root))
    with pytest.raises(SystemExit) as end:
        run(["train", *words.split(), "--out", str(tmp_path / "out")])
    said = capsys.readouterr()
    assert end.value.code == 2
    assert said.err.startswith("tent: ")
    assert line in said.err
    assert said.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def said_by(words, capsys):
    from tent.cli.app import run

    with pytest.raises(SystemExit) as end:
        run(["train", *words.split(), "--epochs", "1", "--batch", "32", "--precision", "float32"])
    return end.value.code, capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        ("--method rg --source cifar10 --target mnist --model r26", "rg-cifar10-mnist"),
        ("--method uda-ss --data cifar10 --target cifar10:test --model r26-gn", "uda-ss-cifar10-cifar10-test-r26-gn"),
        ("--method ttt --source cifar10 --model r26", "ttt-cifar10"),
    ],
)
def test_a_baseline_goes_where_its_name_says(root, target, words, folder, capsys, monkeypatch):
    monkeypatch.setenv("TENT_DATA", str(root))
    code, said = said_by(words, capsys)
    card = json.loads((root / "models" / folder / "card.json").read_text())
    assert code == 0, said.err
    assert card["training"]["method"] == words.split()[1]
    assert card["model"] == {"rg": "r26", "uda": "r26-gn", "ttt": "r26-rotation"}[folder.split("-")[0]]
    assert said.out.startswith(f"{root / 'models' / folder}: error {card['test_error']:.2%} on cifar10 test")
    if "target_error" in card:
        assert f", {card['target_error']:.2%} on {card['target_test_set']}, " in said.out
    assert ("target_error" in card) == ("--target" in words)


def test_plain_training_needs_a_folder(root, capsys, monkeypatch):
    monkeypatch.setenv("TENT_DATA", str(root))
    code, said = said_by("--source cifar10 --model r26", capsys)
    assert (code, said.err) == (2, "tent: no folder for the weights; name one with --out FOLDER\n")
