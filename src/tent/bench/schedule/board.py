"""The board: which tasks of a plan are to do, running, done and failed, and how long the rest should take."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timezone
from time import monotonic

from tent.bench.execute.run import failed
from tent.bench.result import Result
from tent.bench.schedule.choice import decided
from tent.bench.schedule.pace import Pace
from tent.bench.schedule.plan import Plan, Task
from tent.bench.store import Store


class Board:
    """The state of a run; one process looks after it."""

    def __init__(self, plan: Plan, store: Store, workers: int = 1) -> None:
        self.plan, self.store, self.workers = plan, store, workers
        self.since = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self.pace = Pace(store.all())
        self.before = 0  # done by an earlier run
        self.done: list[tuple[Task, Result]] = []
        self.failed: list[tuple[Task, str]] = []
        self.running: dict[Task, float] = {}  # since when
        self.todo: deque[Task] = deque()
        self.undecided: list[Task] = []  # wait for the candidates
        self._sort(plan.tasks)
        self._decide()

    @property
    def total(self) -> int:
        """The number of all cases."""
        return len(self.plan.tasks) + len(self.plan.broken)

    def start(self) -> None:
        """Put on record what cannot be run."""
        for task, why in self.plan.broken:
            self.store.put(failed(task.case, why))
            self.failed.append((task, why))

    def take(self) -> Task | None:
        """Return the next task, or None while there is nothing to run."""
        self._decide()
        if not self.todo:
            return None
        task = self.todo.popleft()
        self.running[task] = monotonic()
        return task

    def end(self, task: Task, result: Result | None) -> None:
        """Take note of a task's result; without one, another run has it, and it is looked at again later."""
        del self.running[task]
        if result is None:
            self.todo.append(task)
        elif result.error is None:
            self.done.append((task, result))
            self.pace.add(result)
        else:
            self.failed.append((task, result.error))

    @property
    def over(self) -> bool:
        """Whether nothing is left to do or to wait for."""
        self._decide()
        return not (self.todo or self.running or self.undecided)

    def left(self) -> tuple[float, int]:
        """Return the seconds that the rest should take with these workers, and the number of unknown cases."""
        known, unknown, now = 0.0, 0, monotonic()
        for task in (*self.todo, *self.undecided, *self.running):
            seconds = self.pace.seconds(task.case, task.images)
            unknown += seconds is None
            known += max(0.0, (seconds or 0.0) - (now - self.running.get(task, now)))
        return known / self.workers, unknown

    def settled(self, task: Task) -> bool:
        """Tell whether a task needs no run: it succeeded once, or failed since this run began."""
        return settled(self.store.get(task.case), self.since)

    def _sort(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            if task.case.undecided:
                self.undecided.append(task)
            elif self.settled(task):
                self.before += 1
            else:
                self.todo.append(task)

    def _decide(self) -> None:
        """Choose what the candidates' results allow to choose."""
        cells, choice = self.plan.candidates, self.plan.suite.choice
        if not self.undecided or not choice:
            return
        waiting = {task.case for task in (*self.todo, *self.running)}
        if any(cell.case in waiting for cell in cells):
            return
        found = {cell.case: result for cell in cells if (result := self.store.get(cell.case)) is not None}
        tasks, self.undecided = self.undecided, []
        try:
            ready = [replace(task, case=decided(task.case, choice.option, cells, found)) for task in tasks]
        except ValueError as error:
            for task in tasks:
                self.store.put(failed(task.case.unpinned(), str(error)))
                self.failed.append((task, str(error)))
            return
        self._sort(ready)


def settled(result: Result | None, since: str) -> bool:
    """Tell whether a result stands: a success, or a failure of no earlier than the time given."""
    return result is not None and (result.error is None or result.finished >= since)
