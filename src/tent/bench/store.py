"""The store: one JSON file a case, whole or not there at all, and a lock a case for all who run at once."""

import json
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tent.bench.case import Case
from tent.bench.result import Result
from tent.files import atomic_write, lock

LOCKS = ".locks"
NAME = re.compile(r"[0-9a-f]{24}\.json")


def say(line: str) -> None:
    """Print a line to standard error."""
    print(f"tent: {line}", file=sys.stderr, flush=True)


class Store:
    """Results in a folder, found by the key of their case.

    Args:
        report: is told of damaged files, one line each.
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
        """Keep a result; a failure of the same case from before its hashes were known goes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(path := self.path(result.case)) as beside:
            text = json.dumps(result.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
            beside.write_text(_folded(text) + "\n", encoding="utf-8")
        if (early := self.path(result.case.unpinned())) != path:
            early.unlink(missing_ok=True)

    def all(self) -> list[Result]:
        """Return every whole result, in the order of their names."""
        found = (self._read(path) for path in sorted(self.folder.glob("*.json")) if NAME.fullmatch(path.name))
        return [result for result in found if result is not None]

    def lock(self, case: Case) -> AbstractContextManager[None]:
        """Keep every other process from running this case."""
        return self._alone(self.path(case))

    def _alone(self, path: Path) -> AbstractContextManager[None]:
        locks = self.folder / LOCKS
        if not (ignore := locks / ".gitignore").is_file():
            locks.mkdir(parents=True, exist_ok=True)
            ignore.write_text("*\n", encoding="utf-8")
        return lock(locks / f"{path.stem}.lock", f"{path.stem}: another process is running this case")

    def _read(self, path: Path) -> Result | None:
        try:
            return _whole(path)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            self._set_aside(path, problem)
            return None

    def _set_aside(self, path: Path, problem: Exception) -> None:
        try:
            with self._alone(path):
                _whole(path)  # who held the lock may have mended it meanwhile
        except BlockingIOError:
            return  # someone is running it again, and will replace it
        except FileNotFoundError:
            return
        except (ValueError, TypeError, KeyError, AttributeError):
            aside = path.with_name(f"{path.name}.damaged")
            path.replace(aside)
            self.report(f"{path.name} is damaged ({' '.join(str(problem).split())[:100]}); set aside as {aside.name}")


def _whole(path: Path) -> Result:
    read = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(read, dict):
        raise ValueError("not a result")
    result = Result.from_json(read)
    if result.case.key()[:24] != path.stem:
        raise ValueError(f"its case is {result.case.key()[:24]}")
    return result


def _folded(text: str) -> str:
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
