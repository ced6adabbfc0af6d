"""The record of a segmentation run: what the source and the adapted model said of the pixels of every image."""

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from tent.apps.out_folder import LABEL_MAPS
from tent.apps.record import Predictions, Record
from tent.files import atomic_write
from tent.losses import confidence, entropy
from tent.tasks import Segmentation

TILE = re.compile(r"@\d+,\d+$")  # behind the name of a tile's image
MEASURED = ("mean_iou", "mean_iou_absent_zero", "pixel_accuracy")
COLUMNS = ("file", "label_map", "pixels", "confidence", "entropy", "entropy_before", "changed", "pixel_accuracy")


class PixelRecord(Record):
    """One row an image: means over its pixels; how often each class was answered, and both confusion matrices."""

    counted = "pixels"

    def __init__(self, class_names: Sequence[str]) -> None:
        super().__init__(tuple(class_names), Predictions(), Predictions())
        classes = len(self.class_names)
        self.rows: list[list[float]] = []  # pixels, share changed, and pixels right before and after, of those known
        self.histograms = np.zeros((2, classes), dtype=np.int64)
        self.matrices = np.zeros((2, classes, classes))

    def add(self, before: Tensor, after: Tensor, labels: Tensor | None) -> None:
        """Note one batch of logits, (n, classes, h, w), both of the size of the image."""
        pair, answers = (before, after), (before.argmax(1), after.argmax(1))
        for part, logits in zip((self.before, self.after), pair, strict=True):
            part.confidences.append(confidence(logits).flatten(1).mean(1).cpu().numpy())
            part.entropies.append(entropy(logits).flatten(1).mean(1).cpu().numpy())
        for place, found in enumerate(answers):
            self.histograms[place] += np.bincount(found.flatten().cpu().numpy(), minlength=len(self.class_names))
        changed = (answers[0] != answers[1]).flatten(1).float().mean(1).tolist()
        right = [[float("nan")] * 2] * len(changed) if labels is None else self._count(pair, labels)
        pixels = float(answers[0][0].numel())
        self.rows += [[pixels, share, *both] for share, both in zip(changed, right, strict=True)]

    def _count(self, pair: tuple[Tensor, Tensor], labels: Tensor) -> list[list[float]]:
        """Add to the confusion matrices, and return the pixel accuracy of each image, before and after."""
        right: list[list[float]] = []
        for i in range(len(labels)):
            tasks = [Segmentation(len(self.class_names)) for _ in pair]
            for place, (task, logits) in enumerate(zip(tasks, pair, strict=True)):
                task.update(logits[i : i + 1], labels[i : i + 1])
                self.matrices[place] += task.matrix
            right.append([task.compute()["pixel_accuracy"] for task in tasks])
        return right

    def errors(self, predictions: Predictions) -> list[float]:
        """Return the share of wrong pixels of each image, where labels are known."""
        column = 2 if predictions is self.before else 3
        return [1 - row[column] for row in self.rows] if self.matrices.any() else []

    def summary(self) -> dict[str, object]:
        """Return the run in numbers; means are over images, and both IoUs over all pixels."""
        numbers: dict[str, object] = {
            "images": len(self.rows),
            "entropy_before": float(np.concatenate(self.before.entropies).mean()),
            "entropy_after": float(np.concatenate(self.after.entropies).mean()),
            "changed": float(np.mean([row[1] for row in self.rows])),
            "histogram_before": self.histogram(self.before),
            "histogram_after": self.histogram(self.after),
        }
        if self.matrices.any():
            for place, when in enumerate(("before", "after")):
                task = Segmentation(len(self.class_names))
                task.sums = np.concatenate([self.matrices[place], np.zeros((1, len(self.class_names)))])
                found = task.compute()
                numbers |= {f"{name}_{when}": found[name] for name in MEASURED}
                numbers[f"iou_{when}"] = {name: found[f"iou_{i}"] for i, name in enumerate(self.class_names)}
        return numbers

    def histogram(self, predictions: Predictions) -> dict[str, int]:
        """Return how many pixels were answered with each class."""
        counts = self.histograms[0 if predictions is self.before else 1]
        return dict(zip(self.class_names, counts.tolist(), strict=True))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays, to be kept on disk."""
        if not self.rows:
            return {}
        means = {
            f"{part}_{name}": np.concatenate(getattr(own, name))
            for part, own in (("before", self.before), ("after", self.after))
            for name in ("confidences", "entropies")
        }
        kept = {"rows": np.array(self.rows), "histograms": self.histograms, "matrices": self.matrices}
        return {**means, **kept, "names": np.array(self.class_names)}

    @staticmethod
    def restore(kept: Mapping[str, NDArray[Any]]) -> "PixelRecord":
        """Return the record that these arrays are of."""
        record = PixelRecord(tuple(kept["names"].tolist()))
        record.rows, record.histograms = kept["rows"].tolist(), kept["histograms"]
        record.matrices = kept["matrices"]
        for part, own in (("before", record.before), ("after", record.after)):
            own.confidences, own.entropies = [kept[f"{part}_confidences"]], [kept[f"{part}_entropies"]]
        return record

    def write(self, files: Sequence[str], path: Path) -> None:
        """Write every image's means beside its file and its label map."""
        if path.suffix != ".csv":
            raise ValueError(f"{path.name}: the table of a segmentation run is written as csv")
        before, after = (np.concatenate(part.entropies) for part in (self.before, self.after))
        sure = np.concatenate(self.after.confidences)
        with atomic_write(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for i, (name, (pixels, changed, _, right)) in enumerate(zip(files, self.rows, strict=True)):
                shares = [f"{value:.6f}" for value in (sure[i], after[i], before[i], changed)]
                writer.writerow([name, map_name(name), int(pixels), *shares, "" if np.isnan(right) else f"{right:.6f}"])


def map_name(file: str) -> str:
    """Return where in the folder of a run an image's label map lies."""
    inside = Path(TILE.sub("", file))
    return str(Path(LABEL_MAPS, *[part for part in inside.parts if part not in ("/", "..")]).with_suffix(".png"))


def at_size(logits: Tensor, height: int, width: int) -> Tensor:
    """Return logits at an image's own size."""
    if logits.shape[2:] == (height, width):
        return logits.float()
    return F.interpolate(logits.float(), size=(height, width), mode="bilinear", align_corners=False)
