"""The folder of one run: one process at a time, one run's files, and what an unfinished run goes on from."""

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tent.adapted import Adapted
from tent.files import atomic_write, lock

LABEL_MAPS, OVERLAYS, ITERATIONS_FILE = "label_maps", "overlays", "iterations.png"  # of segmentation
SUMMARY, DELTA, PICTURE = "summary.json", "delta.safetensors", "summary.png"
FILES = (SUMMARY, DELTA, PICTURE, ITERATIONS_FILE, "predictions.csv", "predictions.parquet")
HIDDEN, PROGRESS, ABOUT = ".run", "progress.npz", "about"  # of a run that has not ended
AGAIN = "choose another --out, or pass --overwrite to replace it"
Arrays = Mapping[str, NDArray[Any]]
Left = dict[str, Any] | None


class OutFolder:
    """A folder that one run writes to; a summary in it, which is written last, says that the run is whole."""

    def __init__(self, path: Path, every: float = 30.0) -> None:
        self.path, self.hidden = path, path / HIDDEN
        self._every, self._saved = every, monotonic()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other runs out; a folder that was made for a run that wrote nothing is taken away again."""
        missing = [each for each in (self.path, *self.path.parents) if not each.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            busy = f"{self.path}: another run is under way in it; choose another --out"
            files = [*(self.path / name for name in FILES), self.hidden / PROGRESS]
            with lock(self.path / ".lock", busy, files):
                try:
                    yield
                finally:
                    (self.path / ".lock").unlink(missing_ok=True)  # while it is held, so that nobody else's is removed
        finally:
            with suppress(OSError):  # it is not empty
                for each in missing:
                    each.rmdir()

    def begin(
        self, settings: Mapping[str, str], overwrite: bool
    ) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Return the summary of these settings' run if it has ended, or what is left of it if it has not."""
        if overwrite:
            self.clear()
        summary, left = self._read_summary(), self._read_progress()
        for found, what in ((summary, "a run"), (left and left[ABOUT], "an unfinished run")):
            if found is not None and (other := _difference(found.get("settings") or {}, settings)):
                raise FileExistsError(f"{self.path}: holds {what} of other settings ({other}); {AGAIN}")
        strange = [name for name in FILES if (self.path / name).exists()]
        strange += [name for name in (LABEL_MAPS, OVERLAYS) if any((self.path / name).rglob("*.png"))]
        if summary is None and left is None and strange:
            raise FileExistsError(f"{self.path / strange[0]}: belongs to no run that is known; {AGAIN}")
        return summary, left

    def save(self, adapted: Adapted, done: int, arrays: Arrays, about: Mapping[str, Any]) -> None:
        """Keep what a run goes on from after a kill: the model's state first, then the file that names it."""
        self.hidden.mkdir(exist_ok=True)
        adapted.checkpoint().save(self.hidden / _state(done))
        text = np.array(json.dumps({**about, "done": done}))
        with atomic_write(self.hidden / PROGRESS) as partial, partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays, **{ABOUT: text})
        for stale in self.hidden.glob("state-*"):
            if stale.name != _state(done):
                stale.unlink()
        self._saved = monotonic()

    def is_due(self) -> bool:
        """Whether it is time to save again."""
        return monotonic() - self._saved >= self._every

    def restore(self, adapted: Adapted, done: int) -> int:
        """Put a model into the state that a run left after so many batches, and return their number."""
        adapted.load_checkpoint(self.hidden / _state(done))
        return done

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the summary, and forget how it came about."""
        with atomic_write(self.path / SUMMARY) as partial:
            partial.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        self._forget()

    def clear(self) -> None:
        """Remove a run's files, the summary first, and nothing else."""
        for name in FILES:
            (self.path / name).unlink(missing_ok=True)
        for name in (LABEL_MAPS, OVERLAYS):
            for picture in (self.path / name).rglob("*.png"):
                picture.unlink()
        self._forget()

    def _forget(self) -> None:
        if self.hidden.is_dir():
            for file in sorted(self.hidden.iterdir(), key=lambda file: file.name != PROGRESS):
                file.unlink()
            self.hidden.rmdir()

    def _read_summary(self) -> dict[str, Any] | None:
        path = self.path / SUMMARY
        if not path.is_file():
            return None
        with suppress(ValueError):
            if isinstance(read := json.loads(path.read_text(encoding="utf-8")), dict):
                return read
        raise ValueError(f"{path}: not a summary of a run; {AGAIN}")

    def _read_progress(self) -> dict[str, Any] | None:
        path = self.hidden / PROGRESS
        if not path.is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as file:
                left = {name: file[name] for name in file.files}
            return {**left, ABOUT: json.loads(str(left[ABOUT]))}
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: damaged ({error}); {AGAIN}") from None


def _state(done: int) -> str:
    return f"state-{done}.safetensors"


def _difference(theirs: Mapping[str, str], ours: Mapping[str, str]) -> str:
    """Return the first setting that differs, in words."""
    names = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    return f"its {names[0]} was {theirs.get(names[0], 'not noted')}, not {ours.get(names[0])}" if names else ""
