"""`tent plot`, as a person runs it."""

import sys
from pathlib import Path

import pytest
from command import tent
from tinysuite import stored, tiny

from tent.bench.suites import SUITES


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SUITES, "tiny", tiny())


def test_it_writes_figures_and_names_them(tmp_path: Path) -> None:
    stored(tmp_path / "results")
    ran = tent(tmp_path, "plot", "tiny", "--out", "there")
    assert ran.returncode == 0, ran.stderr
    names = sorted(path.name for path in (tmp_path / "there").iterdir())
    assert names == [f"tiny-{kind}.{end}" for kind in ("columns", "compute") for end in ("pdf", "png", "svg")]
    assert all(name in ran.stdout for name in names)


def test_formats_rows_columns_and_width_are_chosen(tmp_path: Path) -> None:
    stored(tmp_path / "results")
    ran = tent(tmp_path, "plot", "tiny", "--out", "there", "--format", "PDF, svg", "--rows", "second", "--width", "3.4")
    assert ran.returncode == 0, ran.stderr
    names = sorted(path.name for path in (tmp_path / "there").iterdir())
    assert names == [f"tiny-{kind}.{end}" for kind in ("columns", "compute") for end in ("pdf", "svg")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "bmp"], "figures are written as png, svg, pdf, not as 'bmp'"),
        (["--width", "1"], "--width 1: give 3 inches or more"),
        (["--rows", "third"], "tiny has no row 'third'; it has first, second"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    stored(tmp_path / "results")
    ran = tent(tmp_path, "plot", "tiny", *arguments)
    assert (ran.returncode, ran.stderr) == (2, f"tent: {message}\n")
    assert not (tmp_path / "figures").exists()


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path / "results")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for command in (["plot", "tiny"], ["report"]):
        ran = tent(tmp_path, *command)
        assert (ran.returncode, ran.stderr) == (2, "tent: plots need matplotlib: pip install 'tent-tta[bench]'\n")
    assert not (tmp_path / "report.html").exists()


def test_without_jinja2_the_report_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path / "results")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    ran = tent(tmp_path, "report")
    assert (ran.returncode, ran.stderr) == (2, "tent: the report needs jinja2: pip install 'tent-tta[bench]'\n")
    assert not (tmp_path / "report.html").exists()
