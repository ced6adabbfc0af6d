"""What docs/reading.md says runs, and names what there is."""

import re
from pathlib import Path

import pytest
from readings import fill
from tinysuite import stored, tiny

from tent.bench.read.query import read_grid
from tent.bench.render.spreadsheet import columns
from tent.bench.store import Store
from tent.bench.suites import SUITES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reading.md").read_text(encoding="utf-8")


def test_the_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fill(Store(tmp_path / "results"), SUITES["digits"], (0, 1), lambda row, column, case: (0.25, 1.0))
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/reading.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "Summary(mean=0.25, spread=0.0, seeds=(0, 1))" in shown
    assert "| Tent offline | **25.00 ± 0.00** | 10.0 |" in shown


def test_every_column_of_the_csv_is_named(tmp_path: Path) -> None:
    head = columns(read_grid(tiny(), stored(tmp_path).all()))
    assert all(re.search(rf"`[^`]*\b{name}\b[^`]*`", PAGE) for name in head)
