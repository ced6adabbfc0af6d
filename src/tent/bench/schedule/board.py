"""The board: which jobs of a plan are to do, running, done and failed, and how long the rest should take."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timezone
from statistics import median
from time import monotonic

from tent.bench.case import Case
from tent.bench.execute.run_case import failure
from tent.bench.result import Result
from tent.bench.schedule.plan import Job, Plan
from tent.bench.store import Store


class Board:
    """The state of a run; one process looks after it."""

    def __init__(self, plan: Plan, store: Store, workers: int = 1) -> None:
        self.plan, self.store, self.workers = plan, store, workers
        self.since = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self._known = Store(store.folder, lambda line: None)  # what is no result is run again, and said then
        self.pace = Pace(self._known.all())
        self.before = 0  # done by an earlier run
        self.done: list[tuple[Job, Result]] = []
        self.failed: list[tuple[Job, str]] = []
        self.running: dict[Job, float] = {}  # since when
        self.shares: dict[Job, float] = {}  # of those that run, how much is done
        self._first: dict[Job, tuple[float, float]] = {}  # when a job first said so, and how much it was
        self.todo: deque[Job] = deque()
        self.undecided: list[Job] = []  # wait for the candidates
        self._sort(plan.jobs)
        self._decide()

    @property
    def total(self) -> int:
        """The number of all cases."""
        return len(self.plan.jobs) + len(self.plan.broken)

    def start(self) -> None:
        """Put on record what cannot be run."""
        for job, why in self.plan.broken:
            self.store.put(failure(job.case, why))
            self.failed.append((job, why))

    def take(self) -> Job | None:
        """Return the next job, or None while there is nothing to run."""
        self._decide()
        if not self.todo:
            return None
        job = self.todo.popleft()
        self.running[job] = monotonic()
        return job

    def note_share(self, job: Job, share: float) -> None:
        """Take note of how much of a running job is done."""
        self.shares[job] = share
        self._first.setdefault(job, (monotonic(), share))

    def end(self, job: Job, result: Result | None) -> None:
        """Take note of a job's result; without one, another run has it, and it is looked at again later."""
        del self.running[job]
        self.shares.pop(job, None)
        self._first.pop(job, None)
        if result is None:
            self.todo.append(job)
        elif result.error is None:
            self.done.append((job, result))
            self.pace.add(result)
        else:
            self.failed.append((job, result.error))

    @property
    def over(self) -> bool:
        """Whether nothing is left to do or to wait for."""
        self._decide()
        return not (self.todo or self.running or self.undecided)

    def left(self) -> tuple[float, int]:
        """Return the seconds that the rest should take with these workers, and the number of unknown cases."""
        known, unknown, longest = 0.0, 0, 0.0
        for job in (*self.todo, *self.undecided):
            seconds = self.pace.seconds(job.case, job.images)
            unknown += seconds is None
            known += seconds or 0.0
        for job, begun in list(self.running.items()):  # a terminal draws from a thread of its own
            seconds = self._left_of(job, begun)
            unknown += seconds is None
            known += seconds or 0.0
            longest = max(longest, seconds or 0.0)
        return max(known / self.workers, longest), unknown

    def _left_of(self, job: Job, begun: float) -> float | None:
        """Return the seconds that a running job still takes: by its own pace, or as long as others like it took."""
        now, share = monotonic(), self.shares.get(job)
        since, first = self._first.get(job, (now, 0.0))
        if share is not None and share > first and now > since:
            return (1 - share) * (now - since) / (share - first)
        seconds = self.pace.seconds(job.case, job.images)
        return None if seconds is None else max(0.0, seconds - (now - begun))

    def _sort(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            if job.case.choose:
                self.undecided.append(job)
            elif has_ended(self._known.get(job.case), job, self.since):
                self.before += 1
            else:
                self.todo.append(job)

    def _decide(self) -> None:
        """Choose what the candidates' results allow to choose."""
        cells, choice = self.plan.candidates, self.plan.suite.choice
        if not self.undecided or not choice:
            return
        waiting = {job.case for job in (*self.todo, *self.running)}
        if any(cell.case in waiting for cell in cells):
            return
        results = {cell.case: result for cell in cells if (result := self._known.get(cell.case)) is not None}
        jobs, self.undecided = self.undecided, []
        try:
            value, how = choice.decide(cells, results)
        except ValueError as error:
            for job in jobs:
                self.store.put(failure(job.case.unpin(), str(error)))
                self.failed.append((job, str(error)))
            return
        option = choice.option
        self._sort(replace(job, case=job.case.decide(option, value), choices={option: how}) for job in jobs)


def has_ended(result: Result | None, job: Job, since: str) -> bool:
    """Tell whether a job needs no run: it succeeded once, with its choices on record, or failed since a time."""
    if result is None:
        return False
    if result.error is not None:
        return result.finished >= since
    return result.complete and set(job.choices) <= set(result.choices)


class Pace:
    """Seconds an image by kind of case, from results."""

    def __init__(self, results: Iterable[Result] = ()) -> None:
        self._close: dict[tuple[object, ...], list[float]] = {}
        self._wide: dict[tuple[object, ...], list[float]] = {}
        for result in results:
            self.add(result)

    def add(self, result: Result) -> None:
        """Learn from a result."""
        if result.complete:
            rate = result.seconds / result.images
            self._close.setdefault(_close_kind(result.case), []).append(rate)
            self._wide.setdefault(_wide_kind(result.case), []).append(rate / _passes(result.case))

    def seconds(self, case: Case, images: int) -> float | None:
        """Return how long a case of so many images should take, or None where nothing like it was measured."""
        if rates := self._close.get(_close_kind(case)):
            return median(rates) * images
        rates = self._wide.get(_wide_kind(case))
        return median(rates) * _passes(case) * images if rates else None


def _wide_kind(case: Case) -> tuple[object, ...]:
    return case.model, case.method, case.when, case.reset


def _passes(case: Case) -> float:
    """Return how often an image is learnt from, and half for the pass that answers where that is one of its own."""
    return case.epochs * case.steps + (0.5 if case.when == "offline" else 0)


def _close_kind(case: Case) -> tuple[object, ...]:
    return *_wide_kind(case), case.epochs, case.steps, case.batch_size, case.select, case.stats, case.answers, case.fit
