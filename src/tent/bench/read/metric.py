"""The number that a table is about: a task's primary metric, how it is written, and which way is better."""

from collections.abc import Iterable
from dataclasses import dataclass

from tent.bench.case import Case


@dataclass(frozen=True)
class Metric:
    """A metric by its name in a result, with what a reader has to know of it."""

    name: str
    label: str
    unit: str  # "%": shown as a hundredfold
    higher_is_better: bool

    @property
    def axis(self) -> str:
        """The label and the unit, as beside an axis: error (%)."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def title(self) -> str:
        """The label as it begins a sentence."""
        return self.label.capitalize() if self.label.islower() else self.label

    @property
    def description(self) -> str:
        """What the numbers are, and which are good."""
        unit = {"": "", "%": " in percent"}.get(self.unit, f" in {self.unit}")
        return f"{self.title}{unit}, {'higher' if self.higher_is_better else 'lower'} is better"

    def scale(self, value: float) -> float:
        """Return a result's number in the unit that is shown."""
        return 100 * value if self.unit == "%" else value

    def format(self, value: float) -> str:
        """Return a result's number as it is printed."""
        return f"{self.scale(value):.{2 if self.unit == '%' else 3}f}"

    def best(self, values: Iterable[float]) -> float:
        """Return the best of some numbers."""
        return max(values) if self.higher_is_better else min(values)


def primary_metric(case: Case) -> Metric:
    """Return the metric that a case's task is judged by."""
    task = case.task_type
    return Metric(task.primary, task.label, task.unit, task.higher_is_better)
