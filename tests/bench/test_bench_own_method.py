"""A method of the user's own runs wherever a built-in one does, and an edited file is another case."""

from pathlib import Path

import pytest
import tiny
from command import tent

from tent.bench.execute.inputs import pin_case
from tent.bench.execute.run_case import run_case
from tent.bench.store import Store
from tent.bench.suites import SUITES, by_name

SHARPEN = '''
from dataclasses import dataclass

import tent
from tent import losses, norm, select


@dataclass(frozen=True)
class Sharpen(tent.Method):
    """Tent at a temperature."""

    temperature: float = 0.5
    select = staticmethod(select.norm_affine)
    stats = norm.Batch()

    def loss(self, seen, state):
        return losses.entropy(seen.logits / self.temperature).mean()
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tiny.laid_out(tmp_path)
    (tmp_path / "my.py").write_text(SHARPEN)
    monkeypatch.setitem(SUITES, "tiny", tiny.suite(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def own(folder: Path) -> list[tuple[str, float]]:
    results = [result for result in Store(folder / "results").all() if result.case.method == "my.py:Sharpen"]
    assert all(len(result.case.code["method"]) == 64 and result.complete for result in results)
    return sorted((result.case.code["method"], result.metrics["cross_entropy"]) for result in results)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_row_of_ones_own_method(folder: Path, workers: str) -> None:
    arguments = ("bench", "tiny", "--method", "my.py:Sharpen", "--workers", workers)
    ran = tent(folder, *arguments)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "tiny: 10 of 10 cases done (0 before), in results\n"
    assert len(first := own(folder)) == 2
    if workers == "2":  # which read the file themselves; what follows is their parent's work
        return
    again = tent(folder, *arguments)
    assert again.stdout == "tiny: 10 of 10 cases done (10 before), in results\n"
    (folder / "my.py").write_text(SHARPEN.replace("0.5", "0.25"))
    edited = tent(folder, *arguments)
    assert edited.stdout == "tiny: 10 of 10 cases done (8 before), in results\n"
    assert set(first) < set(own(folder))
    assert len(own(folder)) == 4


def test_its_row_stands_beside_tents_in_its_own_settings() -> None:
    for name in SUITES:
        if "-choice" in name or "-on-test" in name:
            with pytest.raises(ValueError, match="has no row of Tent"):
                by_name(name).with_method("ttt")
    suite = by_name("digits").with_method("pl")
    assert suite.rows[5:7] == ("Tent", "PL")
    cells = [cell for cell in suite.cells((0,), None) if cell.row == "PL"]
    assert [cell.column for cell in cells] == list(suite.columns)
    assert {(cell.case.method, cell.case.optimizer, cell.case.lr) for cell in cells} == {("pl", None, None)}
    severities = by_name("cifar10-c-severities").with_method("ttt").rows
    assert severities[3:5] == ("Tent, severity 1", "TTT, severity 1")
    assert "TTT offline, on train" in by_name("generalise").with_method("ttt").rows
    with pytest.raises(ValueError, match="cifar10-c has a row PL already"):
        by_name("cifar10-c").with_method("pl")


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("nope", "no method 'nope'; there are bn, "),
        ("gone.py:Sharpen", "gone.py: there is no such file"),
        ("my.py:Blur", "my.py: 'Blur' is not a subclass of tent.Method"),
        ("nets.py:Net", "nets.py: 'Net' is not a subclass of tent.Method"),
        ("broken.py:A", "broken.py: ZeroDivisionError"),
    ],
)
def test_a_method_that_is_none_is_one_line(folder: Path, method: str, message: str) -> None:
    (folder / "broken.py").write_text("1 / 0")
    ran = tent(folder, "bench", "tiny", "--method", method)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not (folder / "results").exists()


def test_a_file_that_changes_under_a_case_is_noticed(folder: Path) -> None:
    case = pin_case(tiny.case(folder, method="my.py:Sharpen"))
    assert set(case.code) == {"model", "method"}
    (folder / "my.py").write_text(SHARPEN + "# more\n")
    with pytest.raises(ValueError, match=r"my\.py:Sharpen: its file has changed"):
        run_case(case)


def test_options_reach_it(folder: Path) -> None:
    errors = [
        run_case(tiny.case(folder, method="my.py:Sharpen", options={"temperature": t}, lr=0.1)).metrics for t in (1, 2)
    ]
    assert errors[0] == run_case(tiny.case(folder, lr=0.1)).metrics
    assert errors[0] != errors[1]
