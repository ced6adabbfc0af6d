"""`tent table`, as a person runs it."""

from pathlib import Path

import pytest
import torch
from command import tent
from readings import DATA, result
from tinysuite import stored, tiny

from tent.bench.store import Store
from tent.bench.suites import SUITES
from tent.models import weight_files, zoo


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the tiny suite among the others, and let no model be loaded or run."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a table reads the store, and nothing else")

    monkeypatch.setitem(SUITES, "tiny", tiny())
    for place, name in ((zoo, "load"), (weight_files, "load_file"), (torch, "load"), (torch.nn.Module, "__call__")):
        monkeypatch.setattr(place, name, never)


def test_it_prints_the_table_and_its_terms(tmp_path: Path) -> None:
    stored(tmp_path / "results")
    ran = tent(tmp_path, "table", "tiny")
    assert ran.returncode == 0, ran.stderr
    first = next(line for line in ran.stdout.splitlines() if "first" in line)
    assert [part.strip() for part in first.split("│")[1:-1]] == ["first", "12.00±2.00", "20.00±0.00", "16.00±1.00"]
    assert "standard deviation" in ran.stdout
    assert "never in it" not in ran.stdout
    assert "The full protocol: --full." in ran.stdout
    full = tent(tmp_path, "table", "tiny", "--full").stdout
    assert "never in it" in full
    assert "--full" not in full
    assert sorted(tmp_path.iterdir()) == [tmp_path / "results"]  # nothing is written unless asked for


def test_it_writes_three_forms_whole(tmp_path: Path) -> None:
    stored(tmp_path / "kept")
    ran = tent(tmp_path, "table", "tiny", "--store", "kept", "--out", "made/here")
    assert ran.returncode == 0, ran.stderr
    written = sorted(path.name for path in (tmp_path / "made/here").iterdir())
    assert written == ["tiny.csv", "tiny.md", "tiny.tex"]
    assert "**11.00 ± 0.00**" in (tmp_path / "made/here/tiny.md").read_text(encoding="utf-8")
    assert all(name in ran.stdout.replace("\n", "") for name in written)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path / "results")
    out = tmp_path / "out"
    assert tent(tmp_path, "table", "tiny", "--out", "out").returncode == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def full(self: Path, *_: object, **__: object) -> int:
        self.write_bytes(b"half")
        raise OSError("no space left on the disk")

    monkeypatch.setattr(Path, "write_text", full)
    ran = tent(tmp_path, "table", "tiny", "--out", "out")
    assert (ran.returncode, ran.stderr) == (2, "tent: no space left on the disk\n")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_seeds_and_weights_choose(tmp_path: Path) -> None:
    store = stored(tmp_path / "results")
    for cell in tiny().cells((0,), None):
        store.put(result(cell.case.pin("b2" * 32, lambda _: DATA), 0.5))
    ran = tent(tmp_path, "table", "tiny")
    assert ran.returncode == 2
    assert "2 different weights" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    ran = tent(tmp_path, "table", "tiny", "--weights", "b2")
    assert "50.00" in ran.stdout
    ran = tent(tmp_path, "table", "tiny", "--weights", "a1", "--seeds", "0,1")
    assert "11.00±1.41" in ran.stdout  # 10 and 12
    assert "n = 2 orders of the stream (seeds 0, 1)" in " ".join(ran.stdout.split())


def test_rows_and_columns_choose_and_keep_their_numbers(tmp_path: Path) -> None:
    stored(tmp_path / "results")
    ran = tent(tmp_path, "table", "tiny", "--rows", "SECOND,first", "--columns", "mean", "--columns", "two")
    lines = [[part.strip() for part in line.split("│")[1:-1]] for line in ran.stdout.splitlines() if "│" in line]
    assert lines == [["second", "33.00±3.00", "22.00±1.50"], ["first", "20.00±0.00", "16.00±1.00"]]
    assert "mean: over 2 columns, also those not shown." in " ".join(ran.stdout.split())
    ran = tent(tmp_path, "table", "tiny", "--columns", "one", "--rows", "f*", "--out", "made")
    assert "mean" not in ran.stdout.split("Mean")[0]
    csv = (tmp_path / "made" / "tiny.csv").read_text(encoding="utf-8").splitlines()
    assert len(csv) == 1 + 3


def test_a_damaged_file_is_reported_and_the_rest_is_shown(tmp_path: Path) -> None:
    store = stored(tmp_path / "results")
    hurt = store.path(store.all()[0].case)
    hurt.write_text(hurt.read_text()[:100])
    ran = tent(tmp_path, "table", "tiny")
    assert ran.returncode == 0
    assert ran.stderr.startswith(f"tent: {hurt.name} is damaged")
    assert len(ran.stderr.splitlines()) == 1
    assert "missing" in ran.stdout
    assert hurt.is_file()


@pytest.mark.parametrize("command", [["table", "tiny"], ["plot", "tiny"], ["report"]])
def test_an_empty_store_is_one_line(tmp_path: Path, command: list[str]) -> None:
    ran = tent(tmp_path, *command)
    assert ran.returncode == 2
    assert ran.stderr == "tent: no results in results; run a suite first, such as: tent bench cifar10-c\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no suite 'nowhere'; there are"),
        (["digits"], "no results of digits in the store; run: tent bench digits"),
        (["tiny", "--seeds", "x"], "--seeds 'x': give whole numbers"),
        (["tiny", "--seeds", "9"], "no results of tiny with seeds 9 in the store; it has seeds 0, 1, 2"),
        (["tiny", "--limit", "5"], "no results of tiny with --limit 5 in the store; it has some without --limit"),
        (["tiny", "--weights", "ff"], "no results of weights ff; the store has a1a1a1a1a1a1"),
        (["tiny", "--out", "file"], "file"),
        (["tiny", "--rows", "first,third"], "tiny has no row 'third'; it has first, second"),
        (["tiny", "--columns", "three"], "tiny has no column 'three'; it has one, two, mean"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    stored(tmp_path / "results")
    (tmp_path / "file").write_text("not a folder")
    ran = tent(tmp_path, "table", *arguments)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_every_suite_can_be_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    for suite in SUITES.values():
        store.put(result(suite.cells((0,), None)[0].case, 0.5))
    for name in SUITES:
        ran = tent(tmp_path, "table", name)
        assert ran.returncode == 0, (name, ran.stderr)
        assert "50.00" in ran.stdout or SUITES[name].only_means  # whose means lack other columns
        assert "missing" in ran.stdout
