"""The store: one JSON file a case, whole or not there at all, and a lock a case for all who run at once."""

import json
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tent.bench.case import Case, OtherVersionError
from tent.bench.result import Result
from tent.files import atomic_write, lock

LOCKS = ".locks"
NAME = re.compile(r"[0-9a-f]{24}\.json")
# what reading a file of any content may raise: no JSON, too deep, wrong types, a field that is missing or unknown
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)


def say(line: str) -> None:
    """Print a line to standard error."""
    print(f"tent: {line}", file=sys.stderr, flush=True)


class Store:
    """Results in a folder, found by the key of their case.

    Args:
        report: is told of files that are no whole results, one line each.
    """

    def __init__(self, folder: Path, report: Callable[[str], None] = say) -> None:
        self.folder, self.report = Path(folder), report

    def path(self, case: Case) -> Path:
        """Return the file of a case."""
        return self.folder / f"{case.key()[:24]}.json"

    def get(self, case: Case) -> Result | None:
        """Return the result of a case, if it is there and whole."""
        return self._read(self.path(case))

    def put(self, result: Result) -> None:
        """Keep a result; a failure of the same case from before its hashes or options were known goes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(path := self.path(result.case)) as beside:
            text = json.dumps(result.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
            beside.write_text(_fold_lists(text) + "\n", encoding="utf-8")
        for case in result.suite_cases:
            if (early := self.path(case)) != path:
                early.unlink(missing_ok=True)

    def all(self) -> list[Result]:
        """Return every whole result, in the order of their names."""
        found = (self._read(path) for path in sorted(self.folder.glob("*.json")) if NAME.fullmatch(path.name))
        return [result for result in found if result is not None]

    def lock(self, case: Case) -> AbstractContextManager[None]:
        """Keep every other process from running this case."""
        locks, stem = self.folder / LOCKS, self.path(case).stem
        if not (ignore := locks / ".gitignore").is_file():
            locks.mkdir(parents=True, exist_ok=True)
            ignore.write_text("*\n", encoding="utf-8")
        return lock(locks / f"{stem}.lock", f"{stem}: another process is running this case", [self.path(case)])

    def set_aside(self, case: Case) -> None:
        """Rename the file of a case that is about to run, under its lock, if it is no whole result."""
        try:
            _read_file(path := self.path(case))
        except FileNotFoundError:
            return
        except DAMAGE as problem:
            aside = path.with_name(f"{path.name}.damaged")
            path.replace(aside)
            self.report(f"{path.name} is damaged ({_shorten(problem)}); set aside as {aside.name}")

    def _read(self, path: Path) -> Result | None:
        try:
            return _read_file(path)
        except FileNotFoundError:
            pass
        except OtherVersionError as problem:
            self.report(f"{path.name}: made by another version; skipped ({_shorten(problem)})")
        except DAMAGE as problem:
            self.report(f"{path.name} is damaged ({_shorten(problem)}); skipped")
        return None


def _shorten(problem: Exception) -> str:
    return " ".join(str(problem).split())[:100]


def _read_file(path: Path) -> Result:
    read = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(read, dict):
        raise ValueError("not a result")
    result = Result.from_json(read)
    if result.case.key()[:24] != path.stem:
        raise ValueError(f"its case is {result.case.key()[:24]}")
    return result


def _fold_lists(text: str) -> str:
    """Put each list of numbers on one line."""
    lines: list[str] = []
    depth = 0
    for line in text.split("\n"):
        if depth:
            lines[-1] += line.strip() if line.strip().startswith("]") or lines[-1].endswith("[") else " " + line.strip()
        else:
            lines.append(line)
        depth += line.rstrip().endswith("[") - line.strip().startswith("]")
    return "\n".join(lines)
