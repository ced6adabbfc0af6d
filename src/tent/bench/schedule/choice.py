"""Choices: an option of a method, taken from what its candidates reached on other data, with that on record."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tent.bench.case import CHOSEN, OUTCOME, Case
from tent.bench.result import Result
from tent.bench.suite import Cell


def decided(case: Case, option: str, cells: Sequence[Cell], results: Mapping[Case, Result]) -> Case:
    """Return a case with its option chosen: the candidate of lowest mean error, the first of them in a tie.

    Args:
        results: of the candidates' cells, by their case.
    """
    errors: dict[str, list[float]] = {}
    values: dict[str, object] = {}
    for cell in cells:
        result = results.get(cell.case)
        if result is None or result.error is not None:
            why = result.error if result else "it was not run"
            raise ValueError(f"{option} could not be chosen: {cell.row} on {cell.column} failed ({why})")
        values[cell.row] = cell.case.options[option]
        errors.setdefault(f"{values[cell.row]:g}", []).append(result.metrics["error"])
    means = {value: sum(each) / len(each) for value, each in errors.items()}
    best = min(means, key=lambda value: means[value])
    value = next(value for value in values.values() if f"{value:g}" == best)
    how = {**case.note[CHOSEN][option], OUTCOME: means}
    note = {**case.note, CHOSEN: {**case.note[CHOSEN], option: how}}
    return replace(case, options={**case.options, option: value}, note=note)
