"""States that were learnt, kept beside the results: cases that learn alike and differ in their answers learn once."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from tent.adapted import Adapted
from tent.bench.case import Case
from tent.environment import best_device, hash_sources, provenance
from tent.files import atomic_write

UNFIT = (ValueError, TypeError, KeyError, RuntimeError)  # what loading another version's file may raise
COUNTS = ("forwards", "backwards", "updates", "skipped")


@dataclass(frozen=True)
class AdaptedCache:
    """A folder of adapted states; a few kilobytes each, and safe to delete."""

    folder: Path

    def keep(self, case: Case, adapted: Adapted, seconds: float) -> None:
        """Keep the state that a case has learnt, its counts, the time that it took, and what it was learnt with."""
        tensors = {name: tensor.contiguous() for name, tensor in adapted.state_dict().items()}
        if not tensors or not _can_share(case, adapted):
            return
        self.folder.mkdir(exist_ok=True)
        counts = {name: getattr(adapted.state.counts, name) for name in COUNTS}
        with atomic_write(self._path(case)) as path:
            learnt = {**counts, "step": adapted.state.step, "seconds": seconds, "with": _learnt_with()}
            path.write_bytes(save(tensors, {"learnt": json.dumps(learnt)}))

    def recall(self, case: Case, adapted: Adapted) -> float | None:
        """Put a fresh adaptation into the state that a case learns, if it is known; return the time that took then."""
        try:
            with safe_open(self._path(case), "pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
                learnt = json.loads(file.metadata()["learnt"])
            counts, seconds = {name: int(learnt[name]) for name in COUNTS}, float(learnt["seconds"])
            step = int(learnt["step"])
            if learnt["with"] != _learnt_with():
                return None
            adapted.load_state_dict(tensors)  # all of it, or nothing changes
        except (OSError, SafetensorError, *UNFIT):
            return None  # it is learnt again
        adapted.state.step = step  # answers may draw
        for name, count in counts.items():
            setattr(adapted.state.counts, name, count)
        return seconds

    def _path(self, case: Case) -> Path:
        # what an online case has learnt by its end is what an offline one learns before it answers
        learns = replace(case, when="online", data=(case.fit,) if case.fit else case.data, fit=None)
        return self.folder / f"{learns.key()[:24]}.safetensors"


def _learnt_with() -> dict[str, Any]:
    """Return the versions and hardware that a result of now would carry, and the code, changed files too."""
    now = {name: value for name, value in provenance(best_device()).items() if name not in ("finished", "commit")}
    return {"sources": hash_sources(), **now}


def _can_share(case: Case, adapted: Adapted) -> bool:
    """Tell whether tensors are all that was learnt, and took the passes that any case which learns alike takes."""
    own_pass = adapted.answers == "before" and adapted.method.uses_pass
    return case.reset == "never" and "method" not in case.files and (case.when == "offline" or own_pass)
