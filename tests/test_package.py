"""The package as a user meets it."""

import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import tent

ROOT = Path(__file__).parent.parent


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


def test_files_stay_small_and_rooms_have_names() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 250, path
        assert path.stem not in {"util", "utils", "helpers", "common", "base", "misc"}, path


def test_imports_point_down_only() -> None:
    order = ["select", "norm", "losses", "rotations", "copies", "outputs", "mode", "run", "method"]
    order += ["methods", "engine", "adapted"]
    for i, room in enumerate(order):
        path = ROOT / "src/tent" / room
        files = path.glob("*.py") if path.is_dir() else [path.with_suffix(".py")]
        for file in files:
            for above in order[i + 1 :]:
                assert f"from tent.{above} " not in file.read_text(), (file, above)
