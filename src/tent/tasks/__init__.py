"""Tasks: labels and outputs to metrics that add up batch by batch; the only room below training that sees a label."""

from collections.abc import Callable

from tent.tasks.classification import Classification
from tent.tasks.segmentation import Segmentation
from tent.tasks.task import Task
from tent.tasks.text import TextClassification

TASKS: dict[str, Callable[..., Task]] = {
    "classification": Classification,
    "segmentation": Segmentation,
    "text": TextClassification,
}

__all__ = ["TASKS", "Classification", "Segmentation", "Task", "TextClassification"]
