"""How much of a case is done, said while it runs."""

from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import TypeAlias

from tent.data.stream import Batch

Report: TypeAlias = Callable[[float], None]  # is told which share of a case is done
PAUSE = 0.5  # seconds between reports


class CaseProgress:
    """Wraps the batches of every pass of a case, and reports which share of all passes is done."""

    def __init__(self, passes: int, report: Report | None) -> None:
        self.passes, self.report = passes, report
        self.begun, self.said = 0, monotonic()

    def __call__(self, batches: Iterable[Batch], what: str, count: int) -> Iterator[Batch]:
        """Return the batches of the next pass."""
        self.begun += 1
        for number, batch in enumerate(batches, 1):
            yield batch
            if self.report and monotonic() - self.said >= PAUSE:
                self.said = monotonic()
                self.report(min(1.0, (self.begun - 1 + number / count) / self.passes))
