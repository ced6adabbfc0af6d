"""A choice: the candidate of lowest mean error, the first in a tie, with all means on record."""

import pytest

from tent.bench.case import Case, Data
from tent.bench.result import Result
from tent.bench.suite import Cell, Choice

HOW = {"from": [0, 0.5, 0.9], "rule": "lowest mean"}


def cells() -> list[Cell]:
    return [
        Cell(f"PL {t:g}", on, Case("m", Data(on), "pl", options={"threshold": t}))
        for t in (0, 0.5, 0.9)
        for on in ("a", "b")
    ]


CHOICE = Choice("threshold", "a-choice", lambda limit: cells(), HOW)


def results(*errors: float) -> dict[Case, Result]:
    return {cell.case: Result(cell.case, {"error": e}) for cell, e in zip(cells(), errors, strict=True)}


def test_the_lowest_mean_is_chosen() -> None:
    value, how = CHOICE.decide(cells(), results(0.1, 0.5, 0.25, 0.25, 0.2, 0.375))
    assert value == 0.5
    assert how == {"suite": "a-choice", **HOW, "errors": {"0": 0.3, "0.5": 0.25, "0.9": 0.2875}}


def test_a_result_is_found_by_its_own_case_and_by_the_one_that_left_the_choice_open() -> None:
    left = Case("m", Data("fog"), "pl", choose={"threshold": "a-choice"})
    case = left.decide("threshold", 0.5)
    result = Result(case.pin("weights", lambda _: "data"), {"error": 0.1})
    assert result.suite_cases == (case,)
    assert result.with_choices({"threshold": {"suite": "a-choice"}}).suite_cases == (case, left)


def test_the_first_is_chosen_in_a_tie() -> None:
    assert CHOICE.decide(cells(), results(0.5, 0.5, 0.25, 0.25, 0.125, 0.375))[0] == 0.5


def test_nothing_is_chosen_while_a_candidate_lacks() -> None:
    some = results(0.5, 0.5, 0.25, 0.25, 0.125, 0.375)
    last = cells()[-1].case
    for wrong, message in ((Result(last, error="too dark"), "too dark"), (None, "it was not run")):
        given = {**some, last: wrong} if wrong else {case: some[case] for case in some if case != last}
        with pytest.raises(ValueError, match=f"threshold could not be chosen: PL 0.9 on b failed .{message}."):
            CHOICE.decide(cells(), given)
