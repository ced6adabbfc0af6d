"""Results: what a case gave, with the protocol in words, versions, hardware and commit beside every number."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from tent.bench.case import Case
from tent.bench.frozen_json import check_types, conforms

LATER = ("by_domain", "counts", "choices", "training")  # not written where there is nothing of it
BUDGET = ("epochs", "seconds", "forward", "backward", "source_images", "target_images")  # numbers of a training


@dataclass(frozen=True)
class Result:
    """What a case gave, or why it failed."""

    case: Case
    metrics: Mapping[str, Any] = field(default_factory=dict)  # over the stream
    by_batch: Mapping[str, list[float | None]] = field(default_factory=dict)  # None: the batch has no such number
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
    by_domain: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # the metrics, by the stream's domains
    counts: Mapping[str, int] = field(default_factory=dict)  # samples forward and backward, batches updated on, skipped
    choices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # how options were chosen, by their names
    training: Mapping[str, Any] = field(default_factory=dict)  # of the model, where its card has it

    @property
    def complete(self) -> bool:
        """Whether it did not fail and has its task's primary metric, whichever others there were in its time."""
        return self.error is None and self.has_numbers and math.isfinite(self.metrics.get(self._primary, math.nan))

    @property
    def has_numbers(self) -> bool:
        """Whether it has metrics that are numbers, of images that were answered in a known time."""
        numbers = bool(self.metrics) and conforms(self.metrics, Mapping[str, float])
        return numbers and math.isfinite(self.seconds) and self.images > 0

    @property
    def suite_cases(self) -> tuple[Case, ...]:
        """The cases that a suite may name it by: its own without hashes, and the one that left a choice to a rule."""
        case, rules = self.case.unpin(), {name: how["suite"] for name, how in self.choices.items()}
        return (case, case.undecide(rules)) if rules else (case,)

    def with_choices(self, choices: Mapping[str, Mapping[str, Any]]) -> "Result":
        """Return the result with how its options were chosen on record."""
        words = {f"choice of {name}": _choice_words(self.case.options.get(name), how) for name, how in choices.items()}
        return replace(self, choices={**self.choices, **choices}, protocol={**self.protocol, **words})

    def to_json(self) -> dict[str, Any]:
        """Return the plain form, without what there is nothing of: a metric that is NaN, but for the primary one."""
        form = {**asdict(self), "case": self.case.to_json()}
        form["metrics"] = _drop_nan(self.metrics, keep=self._primary)
        form["by_domain"] = {domain: _drop_nan(own) for domain, own in self.by_domain.items()}
        form["by_batch"] = {
            name: [None if _is_nan(value) else value for value in own] for name, own in self.by_batch.items()
        }
        return {name: value for name, value in form.items() if name not in LATER or value}

    @property
    def _primary(self) -> str:
        return self.case.task_type.primary

    @staticmethod
    def from_json(read: Mapping[str, Any]) -> "Result":
        """Return the result of a plain form; a ValueError says what is wrong with it."""
        if missing := {"case", "metrics", "error", "finished"} - set(read):
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
        known = {each.name for each in fields(Result)} & set(read)
        result = Result(**{**{name: read[name] for name in known}, "case": Case.from_json(read["case"])})
        check_types(result)
        if wrong := [name for name in BUDGET if not conforms(result.training.get(name, 0), float)]:
            raise ValueError(f"its training has {wrong[0]} {result.training[wrong[0]]!r}")
        if not all(isinstance(how.get("suite"), str) for how in result.choices.values()):
            raise ValueError("it does not say by which suite an option was chosen")
        return result


def _drop_nan(metrics: Mapping[str, Any], keep: str = "") -> dict[str, Any]:
    return {name: value for name, value in metrics.items() if name == keep or not _is_nan(value)}


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _choice_words(value: Any, how: Mapping[str, Any]) -> str:
    said = "; ".join(f"{key} {_list(each)}" for key, each in how.items() if key != "errors")
    means = ", ".join(f"{name}: {100 * error:.2f}%" for name, error in how.get("errors", {}).items())
    return f"{value}; {said}" + (f"; mean errors {means}" if means else "")


def _list(value: Any) -> str:
    return ", ".join(str(each) for each in value) if isinstance(value, list | tuple) else str(value)
