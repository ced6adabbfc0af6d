"""The package as a user meets it."""

import re
import subprocess
import sys
from collections import Counter
from importlib.metadata import metadata
from pathlib import Path

import tent

SOURCE = Path(__file__).parent.parent / "src" / "tent"


def test_exported_members() -> None:
    assert len(set(tent.__all__)) == len(tent.__all__)
    assert all(hasattr(tent, name) for name in tent.__all__)
    assert metadata("tent-tta")["Version"] == tent.__version__


def test_the_core_needs_torch_numpy_and_safetensors_alone() -> None:
    code = """
import sys
for name in ("torchvision", "timm", "transformers", "typer", "rich", "PIL", "matplotlib", "onnx", "datasets"):
    sys.modules[name] = None  # as if it were not installed
import torch, tent
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3))
tent.adapt(net)(torch.randn(4, 3))
print(tent.doctor(net, torch.randn(4, 3)).ok)
from tent.cli import main
main()
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout.strip() == "True", ran.stderr
    assert ran.stderr.strip() == "tent: the command needs typer; install it with: pip install 'tent-tta[cli]'"
    assert ran.returncode != 0


def test_the_command_is_installed_with_what_it_draws_with() -> None:
    assert re.search(r"^cli = \[.*matplotlib", (SOURCE.parents[1] / "pyproject.toml").read_text(), re.MULTILINE)


def test_files_stay_small() -> None:
    for path in SOURCE.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 250, path


def test_a_folder_has_at_most_twelve_modules() -> None:
    for folder in (SOURCE, *SOURCE.rglob("*/")):
        modules = [path.name for path in folder.glob("*.py") if not path.name.startswith("__")]
        assert len(modules) <= 12, (folder, modules)


def test_a_file_name_says_what_is_in_it_and_occurs_once() -> None:
    names = [p.stem for p in SOURCE.rglob("*.py") if p.parent.name != "cli" and not p.stem.startswith("__")]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert not {"util", "utils", "helpers", "common", "base", "misc"} & set(names)
