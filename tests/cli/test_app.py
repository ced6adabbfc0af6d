"""The command, as a person runs it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import tent

from tent import __version__ as version

FACTORY = """
from torch import nn

def net():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 3))

def number():
    return 3

def unknown():
    return missing

def library():
    import no_such_library

def end():
    raise SystemExit(0)

class Alike(nn.Module):
    def __eq__(self, other):
        return True

def alike():
    return nn.Sequential(Alike())

class Failing(nn.Module):
    def __init__(self, fail):
        super().__init__()
        self.norm, self.fail = nn.BatchNorm2d(3), fail

    def forward(self, x):
        return self.fail(x)

def key():
    return Failing(lambda x: {}["absent"])

def attribute():
    return Failing(lambda x: x.nothing)

def argument():
    return Failing(lambda x, y: x)
"""


def test_help_names_every_command(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-m", "tent.cli", "--help"], capture_output=True, text=True)
    assert ran.returncode == 0
    for command in ("demo", "adapt", "analyse", "doctor", "bench", "table", "plot", "report", "train", "data"):
        assert command in ran.stdout
        ran_command = tent(tmp_path, command, "--help")
        assert ran_command.returncode == 0
        assert "--help" in ran_command.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(FACTORY)
    (tmp_path / "broken.py").write_text("import torch\n\nlayers = torhc.nn\n")
    (tmp_path / "script.py").write_text("raise SystemExit('usage: script')\n")
    (tmp_path / "bad.safetensors").write_bytes(b"not a safetensors file")
    return tmp_path


def test_doctor_reads_a_factory(folder: Path) -> None:
    ran = tent(folder, "doctor", "nets.py:net", "--input", "64,3,8,8")
    assert ran.returncode == 0, ran.stderr
    assert "1 BatchNorm2d" in ran.stdout
    assert ran.stdout.splitlines()[-1].endswith("ready to adapt")
    assert tent(folder, "doctor", "nets.py:net", "--input", "1,3,9,9").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "no model 'nope'; name it r26-cifar10"),
        (["timm:nope"], "timm has no model 'nope'"),
        (["torchvision:nope"], "torchvision has no model 'nope'"),
        (["gone.py:net"], "gone.py: there is no such file"),
        (["nets.py:other"], "has no function 'other'"),
        (["nets.py:number"], "returned a int, not a torch.nn.Module"),
        (["nets.py:unknown"], "nets.py:unknown: NameError: name 'missing' is not defined (nets.py, line 11)"),
        (["nets.py:library"], "nets.py:library: ModuleNotFoundError: No module named 'no_such_library'"),
        (["nets.py:end"], "nets.py:end: SystemExit: 0"),
        (["nets.py:alike"], "unhashable type: 'Alike'"),
        (["broken.py:net"], "broken.py: NameError: name 'torhc' is not defined"),
        (["script.py:net"], "script.py: SystemExit: usage: script"),
        (["~no_such_user/nets.py:net"], "nets.py: there is no such file"),
        (["nets.py:net", "--device", "cuda:99"], "no device 'cuda:99' here; choose cpu"),
        (["nets.py:net", "--input", "8,3,8,8", "--precision", "half"], "precision must be one of float32"),
        (["nets.py:net", "--input", "a,b"], "--input takes a shape such as 8,3,224,224"),
        (["nets.py:net", "--weights", "gone.pt"], "gone.pt: there is no such file of weights"),
        (["nets.py:net", "--weights", "bad.safetensors"], "bad.safetensors: not a whole file of weights"),
    ],
)
def test_bad_input_ends_in_one_line_and_exit_code_2(folder: Path, arguments: list[str], message: str) -> None:
    ran = tent(folder, "doctor", *arguments)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("model", "message"),
    [("key", "KeyError: 'absent'"), ("attribute", "AttributeError: "), ("argument", "TypeError: ")],
)
def test_what_fails_inside_a_model_is_said_by_adapt_and_by_doctor(folder: Path, model: str, message: str) -> None:
    np.save(folder / "x.npy", np.zeros((4, 8, 8, 3), np.uint8))
    ran = tent(folder, "adapt", f"nets.py:{model}", "x.npy", "--mean", "0", "--std", "1")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
    assert message in ran.stderr
    ran = tent(folder, "doctor", f"nets.py:{model}")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "a step failed" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "No such command 'nope'"),
        (["adapt"], "model"),
        (["doctor", "x", "--magic"], "--magic"),
        (["adapt", "a", "b", "--steps", "x"], "steps"),
    ],
)
def test_a_wrong_call_is_one_line_too(tmp_path: Path, arguments: list[str], message: str) -> None:
    ran = tent(tmp_path, *arguments)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert ran.stderr.endswith("--help\n")
    assert len(ran.stderr.splitlines()) == 1


def test_brackets_in_a_title_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    from tent.cli.adapt import print_summary

    numbers = {"entropy_before": 1.0, "entropy_after": 0.5, "changed": 0.1, "images": 4, "updates": 1, "skipped": 0}
    counts = {"histogram_before": {"cat [a]": 4}, "histogram_after": {"cat [a]": 4}}
    words = {"model": "nets.py:[net]", "data": "the first 4 of [x: 8 images; as is]", "preprocessing": "as is (given)"}
    words |= {"method": "Tent()", "statistics": "Batch()"}
    print_summary({**numbers, **counts, "unreadable": {"[b].png": "why"}, "protocol": words}, Path("out[1]"))
    shown = " ".join(capsys.readouterr().out.split())
    for text in ("nets.py:[net]", "[x: 8 images]", "cat [a]", "as is (given)", "1 images that cannot", "out[1]"):
        assert text in shown


def test_version(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-m", "tent", "--version"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"tent {version}\n", "")
