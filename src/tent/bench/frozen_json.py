"""Plain JSON that cannot change: it can be hashed, compared, and written in one way only."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

FLOATS = ((float,), (float | None,))


class Frozen(Mapping[str, Any]):
    """A dictionary of JSON that cannot change."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = {str(name): freeze(value) for name, value in (values or {}).items()}
        self._hash: int | None = None

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        if self._hash is None:  # computed once: a table compares thousands of cases
            self._hash = hash(canonical_json(self))
        return self._hash

    def __repr__(self) -> str:
        return repr(self._values)


def freeze(value: Any) -> Any:
    """Return JSON with its dictionaries frozen and its lists as tuples."""
    if isinstance(value, Frozen):
        return value
    if isinstance(value, Mapping):
        return Frozen(value)
    if isinstance(value, list | tuple):
        return tuple(freeze(each) for each in value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError(f"{value!r} is not JSON; describe a case by words and numbers")


def to_plain(value: Any) -> Any:
    """Return JSON of dictionaries and lists; whole numbers are written without a point, however they were given."""
    if isinstance(value, Mapping):
        return {name: to_plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def canonical_json(value: Any) -> str:
    """Return the one way to write JSON: sorted, without spaces, in ASCII."""
    return json.dumps(to_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def check_types(described: Any) -> None:
    """Refuse a dataclass with a value that is not of its field's type, as a damaged file may have."""
    kind: Any = type(described)
    for name, hint, plain in _hints(kind):
        if type(value := getattr(described, name)) not in plain and not conforms(value, hint):
            raise ValueError(f"{name} {str(value)[:60]!r}: expected {getattr(hint, '__name__', hint)}")


def conforms(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a type, with all it holds; a whole number is a float too, a bool is no number."""
    if type(value) in _leaves(hint):
        return type(value) is not int or abs(value) < 2**63
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is UnionType:
        return any(conforms(value, each) for each in inside)
    if origin is tuple and inside[-1] is not Ellipsis:
        return isinstance(value, tuple) and len(value) == len(inside) and all(map(conforms, value, inside))
    if origin is list and inside in FLOATS and isinstance(value, list) and {*map(type, value)} <= {float}:
        return True  # thousands a file, in one look
    if origin in (tuple, list):
        return isinstance(value, origin) and all(conforms(each, inside[0]) for each in value)
    if origin is not None:  # a mapping
        return isinstance(value, Mapping) and all(
            isinstance(name, str) and conforms(each, inside[1]) for name, each in value.items()
        )
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) >= 2**63):
        return hint is bool and isinstance(value, bool)
    return isinstance(value, int | float if hint is float else hint)


@cache
def _hints(kind: Any) -> tuple[tuple[str, Any, frozenset[type]], ...]:
    """Return the fields of a dataclass, their types, and which values need no closer look: whole numbers do."""
    hints: dict[str, Any] = {each.name: each.type for each in fields(kind)}
    return tuple((name, hint, _leaves(hint) - {int}) for name, hint in hints.items())


@cache
def _leaves(hint: Any) -> frozenset[type]:
    """Return the types whose values conform to a hint at one look, since a suite has a hundred thousand of them."""
    return frozenset(get_args(hint) if get_origin(hint) is UnionType else (hint,)) & {str, bool, int, float, NoneType}
