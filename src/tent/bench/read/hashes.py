"""One set of weights and of data a table: results of several are told apart, or refused in words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tent.bench.case import Case, Data
from tent.bench.result import Result

CaseResults = dict[Case, list[Result]]  # by the case as a suite names it
Hashes = list[tuple[str, str]]  # what is tied to a hash, and the hash


def resolve_hashes(suite: str, results: CaseResults, prefixes: Sequence[str]) -> CaseResults:
    """Return the results of one hash a model and one a set: the only one there is, or the one that begins as asked."""
    known = {value for result in _each(results) for value in all_hashes(result.case)}
    for prefix in prefixes:
        if not any(value.startswith(prefix) for value in known):
            weights = sorted({result.case.weights[:12] for result in _each(results) if result.case.weights})
            raise ValueError(f"{suite}: no results of weights {prefix}; the store has {', '.join(weights) or 'none'}")
    for kind, hashes in KINDS.items():
        results = _select(suite, results, kind, hashes, prefixes)
    return results


def all_hashes(case: Case) -> set[str]:
    """Return every hash that a case is tied to: of its weights, its data, and the user's own files."""
    return {value for hashes in KINDS.values() for _, value in hashes(case) if value}


def _select(
    suite: str, results: CaseResults, kind: str, hashes: Callable[[Case], Hashes], prefixes: Sequence[str]
) -> CaseResults:
    known: dict[str, set[str]] = {}
    for result in _each(results):
        for name, value in hashes(result.case):
            known.setdefault(name, set()).update([value] if value else [])  # an early failure is tied to nothing
    for name, values in known.items():
        if len(values) < 2:
            continue
        chosen = {value for value in values if value.startswith(tuple(prefixes))} if prefixes else values
        if len(chosen) != 1:
            raise ValueError(
                f"{suite}: the store has results of {name} with {len(values)} different {kind} "
                f"({', '.join(sorted(value[:12] for value in values))}); "
                f"choose one, such as --weights {min(values)[:12]}"
            )
        known[name] = chosen

    def matches(result: Result) -> bool:
        return all(not value or value in known[name] for name, value in hashes(result.case))

    return {case: [result for result in own if matches(result)] for case, own in results.items()}


def _weight_hashes(case: Case) -> Hashes:
    return [(case.model, case.weights)]


def _data_hashes(case: Case) -> Hashes:
    return [(_describe(data), data.sha256) for data in (*case.data, *case.other_data.values())]


def _code_hashes(case: Case) -> Hashes:
    return [(file, case.code.get(what, "")) for what, file in case.files.items()]


def _describe(data: Data) -> str:
    return " ".join(str(value) for value in replace(data, sha256="", part=None, size=None).to_json().values())


def _each(results: CaseResults) -> Iterator[Result]:
    return (result for own in results.values() for result in own)


KINDS = {"weights": _weight_hashes, "data": _data_hashes, "code": _code_hashes}
