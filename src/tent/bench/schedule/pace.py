"""How long a case should take: seconds an image, from what the store has measured of its like."""

from collections.abc import Iterable
from statistics import median

from tent.bench.case import Case
from tent.bench.result import Result


class Pace:
    """Seconds an image by kind of case, from results."""

    def __init__(self, results: Iterable[Result] = ()) -> None:
        self._close: dict[tuple[object, ...], list[float]] = {}
        self._wide: dict[tuple[object, ...], list[float]] = {}
        for result in results:
            self.add(result)

    def add(self, result: Result) -> None:
        """Learn from a result."""
        if result.error is None and result.images:
            rate = result.seconds / result.images
            self._close.setdefault(_close(result.case), []).append(rate)
            self._wide.setdefault(_wide(result.case), []).append(rate / result.case.steps)

    def seconds(self, case: Case, images: int) -> float | None:
        """Return how long a case of so many images should take, or None where nothing like it was measured."""
        if rates := self._close.get(_close(case)):
            return median(rates) * images
        rates = self._wide.get(_wide(case))
        return median(rates) * case.steps * images if rates else None


def _wide(case: Case) -> tuple[object, ...]:
    return case.model, case.method, case.when, case.epochs


def _close(case: Case) -> tuple[object, ...]:
    return *_wide(case), case.steps, case.batch_size, case.select, case.stats, case.answers
