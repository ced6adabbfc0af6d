"""What one case has learnt serves another that learns alike, and only that."""

from dataclasses import replace
from pathlib import Path

import pytest
import tiny

from tent.adapted import Adapted
from tent.bench.execute.adapted_cache import Lessons
from tent.bench.execute.run import run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny.laid_out(tmp_path)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the calls that learn offline."""
    calls: list[int] = []
    fit = Adapted.fit
    monkeypatch.setattr(Adapted, "fit", lambda self, *args, **more: calls.append(1) or fit(self, *args, **more))
    return calls


@pytest.mark.parametrize("epochs", [1, 3])
def test_offline_goes_on_from_what_online_has_learnt(folder: Path, fits: list[int], epochs: int) -> None:
    online = tiny.case(folder, epochs=epochs, lr=0.05)
    offline = replace(online, when="offline")
    alone = run(offline)
    fits.clear()
    lessons = Lessons(folder / ".learnt")
    first = run(online, lessons=lessons)
    fits.clear()
    shared = run(offline, lessons=lessons)
    assert not fits
    assert shared.metrics == alone.metrics
    assert shared.protocol == alone.protocol
    assert shared.seconds > first.seconds  # what was learnt once is counted in both


def test_another_case_learns_for_itself(folder: Path, fits: list[int]) -> None:
    lessons = Lessons(folder / ".learnt")
    run(tiny.case(folder, lr=0.05), lessons=lessons)
    for change in ({"lr": 0.1}, {"seed": 1}, {"epochs": 2}, {"method": "pl"}, {"batch_size": 8}):
        fits.clear()
        run(replace(tiny.case(folder, lr=0.05), when="offline", **change), lessons=lessons)
        assert fits, change


def test_a_damaged_lesson_is_learnt_again(folder: Path, fits: list[int]) -> None:
    lessons = Lessons(folder / ".learnt")
    case = tiny.case(folder, lr=0.05)
    run(case, lessons=lessons)
    (file,) = (folder / ".learnt").iterdir()
    file.write_bytes(b"half a fi")
    fits.clear()
    assert run(replace(case, when="offline"), lessons=lessons).metrics == run(replace(case, when="offline")).metrics
    assert fits


def test_a_case_that_learns_nothing_leaves_nothing(folder: Path) -> None:
    run(tiny.case(folder, method="bn"), lessons=Lessons(folder / ".learnt"))
    assert not (folder / ".learnt").exists()
