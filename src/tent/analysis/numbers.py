"""A figure's numbers, apart from its picture: tables of rows, a summary, and how they lie on disk."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tent.files import atomic_write

Value: TypeAlias = str | int | float | None  # None: not known, such as the error of an empty bin
Row: TypeAlias = Mapping[str, Value]
FEWEST = 10  # images of a bin whose mean is drawn: of fewer it is noise; the tables have them all


@dataclass(frozen=True)
class Numbers:
    """What a figure shows: tables by name, its own under "", a summary, and one line for each thing to know of it."""

    figure: str
    tables: Mapping[str, Sequence[Row]]
    summary: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def rows(self) -> Sequence[Row]:
        """The figure's own table."""
        return self.tables[""]

    def save(self, folder: Path, **about: Any) -> list[Path]:
        """Write every table as CSV and all of it as JSON, with what else a number must carry; return the files.

        Args:
            about: protocol and provenance, for the JSON file.
        """
        files = []
        for name, rows in self.tables.items():
            files.append(folder / f"{'-'.join(filter(None, (self.figure, name)))}.csv")
            with atomic_write(files[-1]) as partial, partial.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]) if rows else [])
                writer.writeheader()
                writer.writerows({key: _short(value) for key, value in row.items()} for row in rows)
        files.append(folder / f"{self.figure}.json")
        content = {"figure": self.figure, "summary": self.summary, "notes": list(self.notes), **about}
        with atomic_write(files[-1]) as partial:
            partial.write_text(_dump(content, self.tables), encoding="utf-8")
        return files

    @staticmethod
    def load(path: Path) -> "Numbers":
        """Return the numbers of a JSON file that `save` wrote, to draw them again."""
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
            tables = {
                name: [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
                for name, table in read["tables"].items()
            }
            return Numbers(read["figure"], tables, read["summary"], tuple(read["notes"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{path}: not the numbers of a figure; name a .json file of `tent analyse`") from None


def number(row: Row, name: str) -> float:
    """Return a row's value as a number; NaN where it is not known."""
    value = row.get(name)
    return float("nan") if value is None else float(value)


def share(part: float, whole: float) -> float | None:
    """Return a part of a whole; None of an empty one."""
    return part / whole if whole else None


def _short(value: Value) -> Value:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _dump(content: Any, tables: Mapping[str, Sequence[Row]]) -> str:
    """Return JSON with one row of a table a line; a number that is not one is null."""
    parts = []
    for name, rows in tables.items():
        lines = ",\n    ".join(json.dumps(_plain(list(row.values()))) for row in rows)
        columns = json.dumps(list(rows[0]) if rows else [])
        parts.append(f'  {json.dumps(name)}: {{"columns": {columns}, "rows": [\n    {lines}\n  ]}}')
    head = json.dumps(_plain(content), indent=1).removesuffix("\n}")
    body = ",\n".join(parts)
    return f'{head},\n "tables": {{\n{body}\n }}\n}}\n'


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return _short(value) if math.isfinite(value) else None
    return value
