"""The record of a run: what the source and the adapted model said of every image, and the table of it on disk."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tent.files import atomic_write
from tent.losses import confidence, entropy

FORMATS = ("csv", "parquet")
COLUMNS = ("file", "class", "name", "confidence", "entropy", "class_before", "label")


def check_format(table: str) -> None:
    """Say so if a table cannot be written in this format."""
    if table not in FORMATS:
        raise ValueError(f"predictions are written as {' or '.join(FORMATS)}, not as {table!r}")
    if table == "parquet" and find_spec("pyarrow") is None:
        raise ModuleNotFoundError("Parquet needs pyarrow: pip install 'tent-tta[parquet]', or use csv")


@dataclass
class Predictions:
    """One model's predictions: class, confidence and entropy of each image, batch by batch."""

    classes: list[NDArray[np.int64]] = field(default_factory=list)
    confidences: list[NDArray[np.float32]] = field(default_factory=list)
    entropies: list[NDArray[np.float32]] = field(default_factory=list)

    def add(self, logits: Tensor) -> None:
        """Note a batch of logits, (n, classes)."""
        if logits.dim() != 2:
            raise ValueError(f"logits of shape {tuple(logits.shape)}; a record is of one class an image, (n, classes)")
        self.classes.append(logits.argmax(1).cpu().numpy())
        self.confidences.append(confidence(logits).cpu().numpy())
        self.entropies.append(entropy(logits).cpu().numpy())


@dataclass
class Record:
    """The predictions before (the source's) and after adaptation, and the labels where they are known."""

    counted: ClassVar[str] = "images"  # what classes are answered for
    class_names: tuple[str, ...]
    before: Predictions = field(default_factory=Predictions)
    after: Predictions = field(default_factory=Predictions)
    labels: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, before: Tensor, after: Tensor, labels: Tensor | None) -> None:
        """Note one batch."""
        if len(self.class_names) != before.shape[1]:  # not known, or not of this model
            self.class_names = tuple(map(str, range(before.shape[1])))
        self.before.add(before)
        self.after.add(after)
        if labels is not None:
            self.labels.append(labels.cpu().numpy())

    def errors(self, predictions: Predictions) -> list[float]:
        """Return the error of each batch, where labels are known."""
        return [float((y != c).mean()) for y, c in zip(self.labels, predictions.classes, strict=False)]

    def entropies(self, predictions: Predictions) -> list[float]:
        """Return the mean entropy of each batch."""
        return [float(batch.mean()) for batch in predictions.entropies]

    def summary(self) -> dict[str, object]:
        """Return the run in numbers."""
        before, after = np.concatenate(self.before.classes), np.concatenate(self.after.classes)
        numbers: dict[str, object] = {
            "images": len(after),
            "entropy_before": float(np.concatenate(self.before.entropies).mean()),
            "entropy_after": float(np.concatenate(self.after.entropies).mean()),
            "changed": float((before != after).mean()),
            "histogram_before": self.histogram(self.before),
            "histogram_after": self.histogram(self.after),
        }
        if self.labels:
            labels = np.concatenate(self.labels)
            numbers["error_before"] = float((before != labels).mean())
            numbers["error_after"] = float((after != labels).mean())
        return numbers

    def histogram(self, predictions: Predictions) -> dict[str, int]:
        """Return how often each class was answered."""
        counts = np.bincount(np.concatenate(predictions.classes), minlength=len(self.class_names))
        return dict(zip(self.class_names, counts.tolist(), strict=True))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays, to be kept on disk."""
        if not self.after.classes:
            return {}
        kept = {"sizes": np.array([len(batch) for batch in self.after.classes]), "names": np.array(self.class_names)}
        for part, own in (("before", self.before), ("after", self.after)):
            kept |= {f"{part}_{name}": np.concatenate(batches) for name, batches in vars(own).items()}
        return kept | ({"labels": np.concatenate(self.labels)} if self.labels else {})

    @staticmethod
    def restore(kept: Mapping[str, NDArray[Any]]) -> "Record":
        """Return the record that these arrays are of."""
        if "sizes" not in kept:
            return Record(())
        ends = np.cumsum(kept["sizes"])[:-1]

        def read(part: str) -> Predictions:
            return Predictions(*(np.split(kept[f"{part}_{each.name}"], ends) for each in fields(Predictions)))

        labels = np.split(kept["labels"], ends) if "labels" in kept else []
        return Record(tuple(kept["names"].tolist()), read("before"), read("after"), labels)

    def write(self, files: Sequence[str], path: Path) -> None:
        """Write every image's answer beside its file; the ending of the table's name chooses the format."""
        if path.suffix == ".parquet":
            return self._write_parquet(files, path)
        with atomic_write(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(self._rows(files))

    def _rows(self, files: Sequence[str]) -> Iterator[tuple[object, ...]]:
        after, before = self.after, np.concatenate(self.before.classes)
        classes, sure, spread = (np.concatenate(part) for part in (after.classes, after.confidences, after.entropies))
        labels = np.concatenate(self.labels) if self.labels else None
        for i, (file, answer) in enumerate(zip(files, classes.tolist(), strict=True)):
            label = "" if labels is None else int(labels[i])
            name = self.class_names[answer]
            yield file, answer, name, f"{sure[i]:.6f}", f"{spread[i]:.6f}", int(before[i]), label

    def _write_parquet(self, files: Sequence[str], path: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        columns = dict(zip(COLUMNS, map(list, zip(*self._rows(files), strict=True)), strict=True))
        for name in ("confidence", "entropy"):
            columns[name] = [float(value) for value in columns[name]]
        if not self.labels:
            columns["label"] = [None] * len(columns["file"])
        with atomic_write(path) as partial:
            pyarrow.parquet.write_table(pyarrow.table(columns), partial)
