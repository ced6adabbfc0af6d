"""A choice: the candidate of lowest mean error, the first in a tie, with all means on record."""

import pytest

from tent.bench.case import Case, Data
from tent.bench.result import Result
from tent.bench.schedule.choice import decided
from tent.bench.suite import Cell

HOW = {"from": [0, 0.5, 0.9], "rule": "lowest mean"}
OPEN = Case("m", Data("fog"), "pl", note={"chosen": {"threshold": HOW}})


def cells() -> list[Cell]:
    return [
        Cell(f"PL {t:g}", on, Case("m", Data(on), "pl", options={"threshold": t}))
        for t in (0, 0.5, 0.9)
        for on in ("a", "b")
    ]


def results(*errors: float) -> dict[Case, Result]:
    return {cell.case: Result(cell.case, {"error": e}) for cell, e in zip(cells(), errors, strict=True)}


def test_the_lowest_mean_is_chosen() -> None:
    found = decided(OPEN, "threshold", cells(), results(0.1, 0.5, 0.25, 0.25, 0.2, 0.375))
    assert found.options == {"threshold": 0.5}
    assert found.note["chosen"]["threshold"]["errors"] == {"0": 0.3, "0.5": 0.25, "0.9": 0.2875}
    assert found.note["chosen"]["threshold"]["rule"] == "lowest mean"
    assert found.unpinned() == OPEN
    assert not found.undecided


def test_the_first_is_chosen_in_a_tie() -> None:
    found = decided(OPEN, "threshold", cells(), results(0.5, 0.5, 0.25, 0.25, 0.125, 0.375))
    assert found.options == {"threshold": 0.5}


def test_nothing_is_chosen_while_a_candidate_lacks() -> None:
    some = results(0.5, 0.5, 0.25, 0.25, 0.125, 0.375)
    last = cells()[-1].case
    for wrong, message in ((Result(last, error="too dark"), "too dark"), (None, "it was not run")):
        given = {**some, last: wrong} if wrong else {case: some[case] for case in some if case != last}
        with pytest.raises(ValueError, match=f"threshold could not be chosen: PL 0.9 on b failed .{message}."):
            decided(OPEN, "threshold", cells(), given)
