import re
from pathlib import Path

import pytest

from tent.data import known_sets

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


@pytest.mark.real_data
def test_the_code_on_the_page_runs(real_data, monkeypatch, capsys):
    monkeypatch.setenv("TENT_DATA", str(real_data))
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "docs/data.md", "exec"), {})
    assert "cifar10 test: 10,000 images, shuffled by seed 0, batches of 200" in capsys.readouterr().out


def test_the_page_names_every_set():
    for name in known_sets():
        assert f"`{name}`" in PAGE
