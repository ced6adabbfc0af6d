"""One set of weights and of data a table: results of several are told apart, or refused in words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tent.bench.case import Case, Data
from tent.bench.result import Result

Kept = dict[Case, list[Result]]  # by the case as a suite names it
Pins = list[tuple[str, str]]  # what is tied to a hash, and the hash


def settled(name: str, found: Kept, starts: Sequence[str]) -> Kept:
    """Return the results of one hash a model and one a set: the only one there is, or the one that begins as asked."""
    there = {value for result in _each(found) for _, value in (*_weights(result.case), *_data(result.case)) if value}
    for start in starts:
        if not any(value.startswith(start) for value in there):
            weights = sorted({value[:12] for result in _each(found) for _, value in _weights(result.case) if value})
            raise ValueError(f"{name}: no results of weights {start}; the store has {', '.join(weights) or 'none'}")
    found = _one(name, found, "weights", _weights, starts)
    return _one(name, found, "data", _data, starts)


def _one(name: str, found: Kept, kind: str, pins: Callable[[Case], Pins], starts: Sequence[str]) -> Kept:
    seen: dict[str, set[str]] = {}
    for result in _each(found):
        for what, value in pins(result.case):
            seen.setdefault(what, set()).update([value] if value else [])  # an early failure is tied to nothing
    for what, values in seen.items():
        if len(values) < 2:
            continue
        picked = {value for value in values if value.startswith(tuple(starts))} if starts else values
        if len(picked) != 1:
            listed = ", ".join(sorted(value[:12] for value in values))
            raise ValueError(
                f"{name}: the store has results of {what} with {len(values)} different {kind} ({listed}); "
                f"choose one, such as --weights {min(values)[:12]}"
            )
        seen[what] = picked

    def fits(result: Result) -> bool:
        return all(not value or value in seen[what] for what, value in pins(result.case))

    return {case: [result for result in own if fits(result)] for case, own in found.items()}


def _weights(case: Case) -> Pins:
    return [(case.model, case.weights)]


def _data(case: Case) -> Pins:
    streams = case.data if case.fit is None else (*case.data, case.fit)
    return [(_words(replace(data, sha256="", part=None, size=None)), data.sha256) for data in streams]


def _words(data: Data) -> str:
    return " ".join(str(value) for value in data.to_json().values())


def _each(found: Kept) -> Iterator[Result]:
    return (result for own in found.values() for result in own)
