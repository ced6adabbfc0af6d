"""Numbers that a file cannot hold: they are left out, or fail their own case and no other."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny

from tent.bench.case import Case
from tent.bench.execute.run_case import run_case
from tent.bench.result import Result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny.laid_out(tmp_path)


@pytest.mark.parametrize(
    ("metrics", "by_domain", "said"),
    [
        ({"error": math.nan}, {}, "ValueError: no error could be measured"),
        ({"error": 0.5}, {"dark": {"error": math.inf}}, "ValueError: Out of range float values"),
    ],
)
def test_numbers_that_cannot_be_kept_fail_their_case_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, metrics: dict[str, float], by_domain: dict[str, Any], said: str
) -> None:
    def run(case: Case, *args: Any) -> Result:
        result = run_case(case, *args)
        return result if "bright" in case.data[0].name else replace(result, metrics=metrics, by_domain=by_domain)

    monkeypatch.setattr("tent.bench.schedule.workers.run_case", run)
    board = tiny.worked(folder, rows=1)
    assert (len(board.done), len(board.failed)) == (1, 1)
    assert board.failed[0][1].startswith(said)
    assert sorted(str(each.error)[:10] for each in board.store.all()) == ["None", "ValueError"]


def test_a_class_that_occurs_nowhere_does_not_stop_a_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(case: Case, *args: Any) -> Result:
        return replace(run_case(case, *args), metrics={"error": 0.5, "iou_0": math.nan}, by_batch={"error": [math.nan]})

    monkeypatch.setattr("tent.bench.schedule.workers.run_case", run)
    assert not tiny.worked(folder, rows=1).failed
    assert tiny.board(folder, rows=1).before == 2
