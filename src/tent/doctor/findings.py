"""The doctor's report: facts and findings, as a table that a person reads."""

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """Something to know, and what to do about it."""

    level: Literal["error", "warning", "note"]  # adaptation fails or is wrong; may do harm; is fine
    what: str
    remedy: str


@dataclass
class Report:
    """What there is to adapt, and every finding; `print` shows it as a table."""

    model: str
    facts: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way of adapting."""
        return not any(finding.level == "error" for finding in self.findings)

    def add(self, level: Literal["error", "warning", "note"], what: str, remedy: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(level, what, remedy))

    def __str__(self) -> str:
        rows = [("model", self.model), *self.facts.items()]
        order = ("error", "warning", "note")
        found = [
            (f.level, f"{f.what}\n→ {f.remedy}") for f in sorted(self.findings, key=lambda f: order.index(f.level))
        ]
        verdict = "ready to adapt" if self.ok else "cannot adapt as it is"
        return "\n".join(_table([*rows, *found, ("verdict", verdict)]))


def _table(rows: Iterable[tuple[str, str]], width: int = 96) -> Iterable[str]:
    rows = list(rows)
    left = max(len(name) for name, _ in rows)
    for name, text in rows:
        lines = [line for part in text.split("\n") for line in textwrap.wrap(part, width - left - 2) or [""]]
        for i, line in enumerate(lines):
            yield f"{name if i == 0 else '':<{left}}  {line}"
