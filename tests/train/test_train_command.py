"""`tent train` as a process of its own: it outlives a kill, and bad input ends in one line."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

COMMAND = [sys.executable, "-c", "from tent.cli import main; main()", "train"]
WORDS = "--model r26 --data cifar10 --epochs 20 --batch 32 --precision bfloat16 --every 0"  # 60 steps


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


def test_a_killed_run_goes_on_to_the_same_bits(root, tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    with tent_train(WORDS, killed, root) as process:
        while steps_done(killed) < 4:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not list(killed.glob("*.json")) + list(killed.glob("*.safetensors"))
    assert 4 <= steps_done(killed) < 60

    with tent_train(WORDS, killed, root) as again, tent_train(WORDS, whole, root) as straight:
        said = [process.communicate()[1] for process in (again, straight)]
    assert again.returncode == straight.returncode == 0, said
    assert ["going on after" in each for each in said] == [True, False]
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--model r27 --data cifar10", "no network 'r27'"),
        ("--model r26 --data svhn", "svhn"),
        ("--model r26 --data usps", "train_labels"),
        ("--model r26 --data cifar10 --epochs 0", "epochs must be above 0, not 0"),
        ("--model r26 --data cifar10 --size 0", "size must be above 0 and below 1024, not 0"),
        ("--model r26 --data cifar10 --device tpu", "no device 'tpu' here"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(root, tmp_path, words, line, capsys, monkeypatch):
    from tent.cli.app import run

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
