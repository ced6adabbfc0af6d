"""A plan: a suite's cases, each once, pinned to the models and data at hand, and what of them is done."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tent.bench.case import Case
from tent.bench.execute.inputs import count, entry_of, forget, pinned
from tent.bench.schedule.untrained import waits
from tent.bench.suite import Cell, Suite


@dataclass(frozen=True)
class Task:
    """A case to run, the number of its images, and what to call it."""

    case: Case
    images: int
    row: str
    column: str

    @property
    def label(self) -> str:
        """The task in a few words."""
        return f"{self.row} on {self.column}, seed {self.case.seed}"


@dataclass
class Plan:
    """What a suite takes: first the cases that a choice waits for, then the table's own, and those that cannot be."""

    suite: Suite
    weights: str | None  # a file that takes the place of the suite's model's own
    candidates: list[Cell] = field(default_factory=list)  # pinned
    tasks: list[Task] = field(default_factory=list)
    broken: list[tuple[Task, str]] = field(default_factory=list)  # with the error
    untrained: list[Cell] = field(default_factory=list)  # wait for their models


def plan(suite: Suite, seeds: Sequence[int], limit: int | None = None, weights: str | None = None) -> Plan:
    """Pin a suite's cases; where none can be, the first reason is raised."""
    forget()
    made, every = Plan(suite, weights), suite.cells(seeds, limit)
    waiting = {cell.case.model for cell in every if waits(suite, cell.case)}
    made.untrained = [cell for cell in every if cell.case.model in waiting]
    cells = [cell for cell in every if cell.case.model not in waiting]
    if suite.choice and any(cell.case.undecided for cell in cells):
        first = suite.choice.cells(limit)
        made.candidates = [Cell(task.row, task.column, task.case) for task in _pinned(made, first)]
        complete = len(made.candidates) == len(first)
        made.tasks += _once(Task(c.case, count(c.case), c.row, c.column) for c in made.candidates)
        if not complete:
            cells = _left_out(made, cells)
    made.tasks = _once([*made.tasks, *_pinned(made, cells)])
    if not made.tasks and made.broken:
        raise ValueError(made.broken[0][1])
    return made


def file_for(plan: Plan, case: Case) -> str | None:
    """Return the file of weights that a case is run with, if it is not the model's own."""
    return plan.weights if case.model == plan.suite.model else None


def _pinned(made: Plan, cells: Iterable[Cell]) -> list[Task]:
    good: list[Task] = []
    wrong: dict[object, str] = {}  # not tried a second time: a network that is not there takes its time
    for cell in cells:
        case, file = cell.case, file_for(made, cell.case)
        for what in (case.model, (case.model, case.data)):
            if what not in wrong and (why := _unreachable(case, file, whole=what != case.model)):
                wrong[what] = why
            if what in wrong:
                made.broken.append((Task(case, 0, cell.row, cell.column), wrong[what]))
                break
        else:
            case = pinned(case, file)
            good.append(Task(case, count(case), cell.row, cell.column))
    return good


def _unreachable(case: Case, file: str | None, whole: bool) -> str | None:
    """Return why a case, or its model alone, cannot be had."""
    try:
        pinned(case, file) if whole else entry_of(case.model, file)
    except Exception as error:  # noqa: BLE001 (whatever a model's own code raises; it is on record)
        hint = "" if whole or file else "; --model NAME and --weights FILE bring another"
        return (str(error) or type(error).__name__) + hint
    return None


def _left_out(made: Plan, cells: list[Cell]) -> list[Cell]:
    """Set aside the cells that wait for a choice which cannot be made, since a candidate cannot be run."""
    why = f"its option could not be chosen: {made.broken[0][1]}"
    waiting = [cell for cell in cells if cell.case.undecided]
    made.broken += [(Task(cell.case, 0, cell.row, cell.column), why) for cell in waiting]
    return [cell for cell in cells if not cell.case.undecided]


def _once(tasks: Iterable[Task]) -> list[Task]:
    kept: dict[Case, Task] = {}
    for task in tasks:
        kept.setdefault(task.case, task)
    return list(kept.values())
