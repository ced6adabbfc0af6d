"""Results: what a case gave, with the protocol in words, versions, hardware and commit beside every number."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from tent.bench.case import Case


@dataclass(frozen=True)
class Result:
    """What a case gave, or why it failed."""

    case: Case
    metrics: Mapping[str, float] = field(default_factory=dict)  # over the stream
    by_batch: Mapping[str, list[float]] = field(default_factory=dict)
    seconds: float = 0.0  # inside the adapted model's calls, learning and answering; reading data is not counted
    images_per_second: float = 0.0  # answered, over all those seconds
    peak_memory: int | None = None  # bytes, of one step
    images: int = 0
    protocol: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    hardware: str = ""
    commit: str = ""
    finished: str = ""  # UTC
    error: str | None = None  # of a case that failed
    training: Mapping[str, Any] = field(default_factory=dict)  # of the model, where its card has it

    def to_json(self) -> dict[str, Any]:
        """Return the plain form, without a training where there was none."""
        written = {**asdict(self), "case": self.case.to_json()}
        return written if self.training else {name: value for name, value in written.items() if name != "training"}

    @staticmethod
    def from_json(read: Mapping[str, Any]) -> "Result":
        """Return the result of a plain form."""
        if missing := {"case", "metrics", "error", "finished"} - set(read):
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
        known = {each.name for each in fields(Result)} & set(read)
        return Result(**{**{name: read[name] for name in known}, "case": Case.from_json(read["case"])})
