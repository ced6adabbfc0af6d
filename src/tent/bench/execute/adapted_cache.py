"""What was learnt, kept beside the results: cases that learn alike and differ in their answers learn once."""

from dataclasses import dataclass, replace
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from tent.adapted import Adapted
from tent.bench.case import Case
from tent.files import atomic_write


@dataclass(frozen=True)
class AdaptedCache:
    """A folder of adapted states; a few kilobytes each, and safe to delete."""

    folder: Path

    def keep(self, case: Case, adapted: Adapted, seconds: float) -> None:
        """Keep the state that a case has learnt, and the time that it took."""
        tensors = {name: tensor.contiguous() for name, tensor in adapted.state_dict().items()}
        if not tensors or adapted.episodic or adapted.engine.state.memory:
            return  # nothing was learnt, or more than tensors
        self.folder.mkdir(exist_ok=True)
        counts = {"seconds": seconds, "updates": adapted.updates, "skipped": adapted.skipped}
        with atomic_write(self._path(case)) as path:
            save_file(tensors, path, {name: str(value) for name, value in counts.items()})

    def recall(self, case: Case, adapted: Adapted) -> float | None:
        """Put a fresh adaptation into the state that a case learns, if it is known; return the time that took then."""
        try:
            with safe_open(self._path(case), "pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
                counts = {name: float(value) for name, value in file.metadata().items()}
        except (OSError, SafetensorError):
            return None
        adapted.load_state_dict(tensors)
        adapted.engine.updates, adapted.engine.skipped = int(counts["updates"]), int(counts["skipped"])
        return counts["seconds"]

    def _path(self, case: Case) -> Path:
        # what an online case has learnt by its end is what an offline one learns before it answers
        learns = replace(case, when="online", data=(case.fit,) if case.fit else case.data, fit=None)
        return self.folder / f"{learns.key()[:24]}.safetensors"
