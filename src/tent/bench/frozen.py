"""Plain JSON that cannot change: it can be hashed, compared, and written in one way only."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


class Frozen(Mapping[str, Any]):
    """A dictionary of JSON that cannot change."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = {str(name): frozen(value) for name, value in (values or {}).items()}

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(canonical(self))

    def __repr__(self) -> str:
        return repr(self._values)


def frozen(value: Any) -> Any:
    """Return JSON with its dictionaries frozen and its lists as tuples."""
    if isinstance(value, Mapping):
        return Frozen(value)
    if isinstance(value, list | tuple):
        return tuple(frozen(each) for each in value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError(f"{value!r} is not JSON; describe a case by words and numbers")


def plain(value: Any) -> Any:
    """Return JSON of dictionaries and lists; whole numbers are written without a point, however they were given."""
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def canonical(value: Any) -> str:
    """Return the one way to write JSON: sorted, without spaces, in ASCII."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
