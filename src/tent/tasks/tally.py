"""A task's metrics over a stream: overall, by domain and by batch."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tent.tasks.task import Task

PLACES = 5  # of a metric by batch: thousands of them are kept in a file


class Tally:
    """The sums of one task over all of a stream and over each of its domains, and its metrics batch by batch."""

    def __init__(self, task: Task) -> None:
        self.task, self._total = task, task.fresh()
        self._domains: dict[str, Task] = {}
        self.by_batch: dict[str, list[float]] = {name: [] for name in task.metrics}

    def add(self, logits: Tensor, labels: Tensor, domains: Sequence[str]) -> None:
        """Count a batch whose samples are of these domains."""
        batch = self.task.fresh()
        for domain in dict.fromkeys(domains):
            part, own = self.task.fresh(), torch.from_numpy(np.array([each == domain for each in domains]))
            if bool(own.all()):
                part.update(logits, labels)
            elif len(logits) == len(labels) == len(own):
                part.update(logits[own.to(logits.device)], labels[own.to(labels.device)])
            else:
                raise ValueError(
                    f"logits of {len(logits)} places for {len(own)} samples cannot be told apart by domain"
                )
            batch.merge(part)
            self._domains.setdefault(domain, self.task.fresh()).merge(part)
        self._total.merge(batch)
        metrics = batch.compute()
        for name, values in self.by_batch.items():
            values.append(round(metrics[name], PLACES))

    @property
    def metrics(self) -> dict[str, float]:
        """Every metric over all batches."""
        return self._total.compute()

    @property
    def by_domain(self) -> dict[str, dict[str, float]]:
        """Every metric over the samples of each domain."""
        return {domain: task.compute() for domain, task in self._domains.items()}
