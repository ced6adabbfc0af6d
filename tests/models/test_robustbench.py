"""Models of RobustBench: through its own package where that is installed, and through a stand-in of its shape."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tent.data import Preprocess
from tent.models import zoo
from tent.models.public import weights_folder

UTILS = """
from pathlib import Path
import torch
from autoattack.state import EvaluationState  # as the published package does, which depends on pyautoattack
from robustbench.model_zoo import model_dicts

def load_model(name, model_dir, dataset, threat_model):
    file = Path(model_dir) / dataset / threat_model / f"{name}.pt"
    if not file.is_file():
        raise ConnectionError("no route to the drive")
    state = torch.load(file, map_location="cpu")["state_dict"]
    models = {(d.value, t.value): own for d, threats in model_dicts.items() for t, own in threats.items()}
    model = models[dataset, threat_model][name]["model"]()
    model.load_state_dict({key.removeprefix("module."): value for key, value in state.items()})
    return model
"""
ZOO = """
from enum import Enum
from tent.models import r26

class Dataset(Enum):
    ten = "cifar10"

class Threat(Enum):
    corruptions = "corruptions"

model_dicts = {Dataset.ten: {Threat.corruptions: {"Standard": {"model": r26, "gdrive_id": "x"}}}}
"""
FILES = {
    "robustbench/__init__.py": "from .utils import load_model\n",
    "robustbench/utils.py": UTILS,
    "robustbench/model_zoo/__init__.py": ZOO,
    "pyautoattack/__init__.py": "",
    "pyautoattack/state.py": "class EvaluationState: pass\n",
}


def ours() -> list[str]:
    return [name for name in sys.modules if name.split(".")[0] in ("robustbench", "autoattack", "pyautoattack")]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of the same shape in front of any that is installed."""
    before = {name: sys.modules.pop(name) for name in ours()}
    for name, text in FILES.items():
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield
    for name in ours():
        del sys.modules[name]
    sys.modules.update(before)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENT_DATA", str(tmp_path / "data"))


def put_weights(model: torch.nn.Module) -> None:
    folder = weights_folder() / "robustbench" / "cifar10" / "corruptions"
    folder.mkdir(parents=True)
    torch.save({"state_dict": {f"module.{k}": v for k, v in model.state_dict().items()}}, folder / "Standard.pt")


@pytest.mark.parametrize("name", ["Standard", "cifar10/corruptions/Standard"])
def test_a_checkpoint_in_its_folder_is_loaded(stand_in: None, name: str) -> None:
    drawn = zoo.load(f"robustbench:{name}", pretrained=False)
    assert drawn.weights == "none: drawn at random"
    put_weights(drawn.model)
    entry = zoo.load(f"robustbench:{name}")
    assert (entry.preprocess, entry.classes, entry.weights) == (Preprocess(), 10, "RobustBench's")
    assert not entry.model.training
    assert torch.equal(entry.model.fc.weight, drawn.model.fc.weight)  # type: ignore[arg-type, union-attr]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Nope", "'Nope' for cifar10 and corruptions"),
        ("cifar10/Standard", ".*write NAME or SET/THREAT/NAME"),
        ("imagenet/Linf/Standard", ".*for cifar10 or cifar100, which alone are known here"),
    ],
)
def test_a_name_that_it_does_not_have(stand_in: None, name: str, line: str) -> None:
    with pytest.raises(ValueError, match=f"robustbench has no model {line}"):
        zoo.load(f"robustbench:{name}")


def test_a_download_that_fails_is_one_line(stand_in: None) -> None:
    with pytest.raises(OSError, match=r"robustbench:Standard: it could not be loaded \(no route to the drive\)"):
        zoo.load("robustbench:Standard")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "robustbench", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tent-tta\[robustbench\]'"):
        zoo.load("robustbench:Standard")


@pytest.mark.skipif(importlib.util.find_spec("robustbench") is None, reason="robustbench is not installed")
@pytest.mark.filterwarnings("ignore")
def test_its_own_wide_network_at_random_weights_goes_through_a_file_of_its_format() -> None:
    drawn = zoo.load("robustbench:Standard", pretrained=False)
    assert sum(p.numel() for p in drawn.model.parameters()) == 36_479_194
    put_weights(drawn.model)
    entry = zoo.load("robustbench:Standard")
    x = torch.rand(2, 3, 32, 32)
    assert torch.equal(entry.model(x), drawn.model.eval()(x))
