"""A plan: a suite's cases, each once, pinned to the models and data at hand, and what of them cannot be run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tent.bench.case import Case
from tent.bench.execute.inputs import clear_cache, count_images, load_entry, pin_case
from tent.bench.suite import Cell, Suite
from tent.models import zoo
from tent.models.cards import TRAINED, is_trained, train_command

FEW = 15  # columns that are named one by one: the types of a benchmark


@dataclass(frozen=True)
class Job:
    """A case to run, the number of its images, and what to call it."""

    case: Case
    images: int
    row: str
    column: str
    choices: Mapping[str, Any] = field(default_factory=dict, compare=False)  # how its options were chosen

    @property
    def label(self) -> str:
        """The job in a few words."""
        return f"{self.row} on {self.column}, seed {self.case.seed}"


@dataclass
class Plan:
    """What a suite takes: first the cases that a choice waits for, then the table's own, and those that cannot be."""

    suite: Suite
    weights: str | None  # a file that takes the place of the suite's model's own
    candidates: list[Cell] = field(default_factory=list)  # pinned
    jobs: list[Job] = field(default_factory=list)
    broken: list[tuple[Job, str]] = field(default_factory=list)  # with the error
    untrained: list[Cell] = field(default_factory=list)  # wait for their models

    def weights_for(self, case: Case) -> str | None:
        """Return the file of weights that a case is run with, if it is not the model's own."""
        return self.weights if case.model == self.suite.model else None


def make_plan(suite: Suite, seeds: Sequence[int], limit: int | None = None, weights: str | None = None) -> Plan:
    """Pin a suite's cases; where none can be, the first reason is raised."""
    clear_cache()
    plan, every = Plan(suite, weights), suite.cells(seeds, limit)
    waiting = {cell.case.model for cell in every if _waits(suite, cell.case)}
    plan.untrained = [cell for cell in every if cell.case.model in waiting]
    cells = [cell for cell in every if cell.case.model not in waiting]
    if suite.choice and any(cell.case.choose for cell in cells):
        candidates = suite.choice.cells(limit)
        plan.jobs = _pin(plan, candidates)
        plan.candidates = [Cell(job.row, job.column, job.case) for job in plan.jobs]
        if len(plan.candidates) < len(candidates):
            cells = _without_undecided(plan, cells)
    once: dict[Case, Job] = {}
    for job in [*plan.jobs, *_pin(plan, cells)]:
        once.setdefault(job.case, job)
    plan.jobs = list(once.values())
    if not plan.jobs and plan.broken:
        raise ValueError(plan.broken[0][1])
    return plan


def describe_untrained(cells: Sequence[Cell]) -> str:
    """Return in one line which cells wait for a training, and how the first of their models is made."""
    columns: dict[str, list[str]] = {}
    for cell in cells:
        columns.setdefault(cell.row, []).append(cell.column.replace("_", " "))
    rows: dict[str, list[str]] = {}
    for row, own in columns.items():
        names = list(dict.fromkeys(own))
        rows.setdefault(", ".join(names) if len(names) <= FEW else f"{len(names)} columns", []).append(row)
    said = "; ".join(f"{', '.join(names)} on {where}" for where, names in rows.items())
    models = list(dict.fromkeys(cell.case.model.removeprefix(TRAINED) for cell in cells))
    counts = f"{len(cells)} case{_s(cells)} wait{'' if len(cells) > 1 else 's'} for {len(models)} training{_s(models)}"
    return (
        f"{counts}: {said}; {'train each, such as' if len(models) > 1 else 'train it with'}: {train_command(models[0])}"
    )


def _waits(suite: Suite, case: Case) -> bool:
    """Tell whether a case is of a model that a suite names and nobody has trained yet."""
    trained = case.model.startswith(TRAINED)
    if case.model == suite.model and (trained or suite.asked_for):
        return False  # it has to be there
    return zoo.is_waiting(case.model) or (trained and not is_trained(case.model.removeprefix(TRAINED)))


def _pin(plan: Plan, cells: Iterable[Cell]) -> list[Job]:
    good: list[Job] = []
    wrong: dict[object, str] = {}  # not tried a second time: a network that is not there takes its time
    for cell in cells:
        case, file = cell.case, plan.weights_for(cell.case)
        for what in (case.model, (case.model, case.data, case.method)):
            if what not in wrong and (why := _obstacle(case, file, whole=what != case.model)):
                wrong[what] = why
            if what in wrong:
                plan.broken.append((Job(case, 0, cell.row, cell.column), wrong[what]))
                break
        else:
            case = pin_case(case, file)
            good.append(Job(case, count_images(case), cell.row, cell.column))
    return good


def _obstacle(case: Case, file: str | None, whole: bool) -> str | None:
    """Return why a case, or its model alone, cannot be had."""
    try:
        pin_case(case, file) if whole else load_entry(case.model, file)
    except Exception as error:  # noqa: BLE001 (whatever a model's own code raises; it is on record)
        hint = "" if whole or file else "; --model NAME and --weights FILE bring another"
        return (str(error) or type(error).__name__) + hint
    return None


def _without_undecided(plan: Plan, cells: list[Cell]) -> list[Cell]:
    """Set aside the cells that wait for a choice which cannot be made, since a candidate cannot be run."""
    why = f"its option could not be chosen: {plan.broken[0][1]}"
    plan.broken += [(Job(cell.case, 0, cell.row, cell.column), why) for cell in cells if cell.case.choose]
    return [cell for cell in cells if not cell.case.choose]


def _s(things: Sequence[object]) -> str:
    return "s" if len(things) > 1 else ""
