"""What the README says runs, in the order it is said."""

import os
import re
from pathlib import Path

import pytest
import torch

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 5
    monkeypatch.chdir(tmp_path)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
    names: dict[str, object] = {"model": model, "x": torch.randn(8, 4)}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert os.listdir(tmp_path) == ["camera-3.safetensors"]


def test_every_link_leads_somewhere() -> None:
    root = Path(__file__).parent.parent
    pages = [root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), (page, target)
