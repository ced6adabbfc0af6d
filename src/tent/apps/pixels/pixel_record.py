"""The record of a segmentation run: what the source and the adapted model said of the pixels of every image."""

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
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

SUMS = (
    *("pixels", "changed", "confidence", "entropy_before", "entropy_after"),
    *("known", "right_before", "right_after"),  # pixels whose label is known, and those answered right
)


class PixelRecord(Record):
    """One row an image: sums over its pixels; how often each class was answered, and both confusion matrices.

    Args:
        iou_classes: the classes that the IoU is averaged over, where the set has fewer than the model; all by default.
    """

    counted = "pixels"

    def __init__(self, class_names: Sequence[str], iou_classes: Sequence[int] | None = None) -> None:
        super().__init__(tuple(class_names))
        classes = len(self.class_names)
        self.iou_classes = tuple(range(classes) if iou_classes is None else iou_classes)
        self.samples = 0  # that were answered: images, or their tiles
        self.sums: list[NDArray[np.float64]] = []  # of each image, in the order of SUMS
        self.histograms = np.zeros((2, classes), dtype=np.int64)
        self.matrices = np.zeros((2, classes, classes))

    def add(self, before: Tensor, after: Tensor, labels: Tensor | None, more: bool = False) -> None:
        """Note the logits of one image, (1, classes, h, w), or of a part of it, and its labels, of the same size.

        Args:
            more: whether it is a further part of the last image, with pixels that no other part has.
        """
        answers = before.argmax(1), after.argmax(1)
        for place, found in enumerate(answers):
            self.histograms[place] += np.bincount(found.flatten().cpu().numpy(), minlength=len(self.class_names))
        known = (0.0, 0.0, 0.0) if labels is None else self._count((before, after), labels)
        spread = (float(entropy(logits).double().sum()) for logits in (before, after))
        pixels, changed = answers[0].numel(), int((answers[0] != answers[1]).sum())
        own = np.array([pixels, changed, float(confidence(after).double().sum()), *spread, *known])
        if more:
            self.sums[-1] = self.sums[-1] + own
        else:
            self.sums.append(own)

    def _count(self, pair: tuple[Tensor, Tensor], labels: Tensor) -> tuple[float, float, float]:
        """Add to the confusion matrices, and return the pixels of known labels, and those right before and after."""
        right = []
        for place, logits in enumerate(pair):
            task = Segmentation(len(self.class_names))
            task.update(logits, labels)
            self.matrices[place] += task.matrix
            right.append(float(task.matrix.trace()))
        return float(task.matrix.sum()), right[0], right[1]

    def errors(self, predictions: Predictions) -> list[float]:
        """Return the share of wrong pixels of each image, where labels are known."""
        name = "right_before" if predictions is self.before else "right_after"
        return [1 - share for share in self._means(name, "known").tolist()] if self.matrices.any() else []

    def entropies(self, predictions: Predictions) -> list[float]:
        """Return the mean entropy of each image's pixels."""
        return list(self._means("entropy_before" if predictions is self.before else "entropy_after").tolist())

    def _means(self, name: str, of: str = "pixels") -> NDArray[np.float64]:
        """Return a sum of each image over its pixels; NaN where there are none."""
        sums = np.array(self.sums).reshape(-1, len(SUMS))
        wholes = sums[:, SUMS.index(of)]
        means: NDArray[np.float64] = np.full(len(sums), np.nan)
        np.divide(sums[:, SUMS.index(name)], wholes, out=means, where=wholes > 0)
        return means

    def summary(self) -> dict[str, object]:
        """Return the run in numbers; means are over images, and both IoUs over all pixels."""
        numbers: dict[str, object] = {
            "images": len(self.sums),
            "entropy_before": float(self._means("entropy_before").mean()),
            "entropy_after": float(self._means("entropy_after").mean()),
            "changed": float(self._means("changed").mean()),
            "histogram_before": self.histogram(self.before),
            "histogram_after": self.histogram(self.after),
        }
        if self.matrices.any():
            numbers["mean_iou_class_count"] = len(self.iou_classes)
            for place, when in enumerate(("before", "after")):
                task = Segmentation(len(self.class_names), iou_classes=self.iou_classes)
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
        if not self.sums:
            return {}
        kept = {"sums": np.array(self.sums), "histograms": self.histograms, "matrices": self.matrices}
        return {**kept, "samples": np.array(self.samples), "names": np.array(self.class_names)}

    @staticmethod
    def restore(kept: Mapping[str, NDArray[Any]], iou_classes: Sequence[int] | None = None) -> "PixelRecord":
        """Return the record that these arrays are of."""
        record = PixelRecord(tuple(kept["names"].tolist()), iou_classes)
        record.sums, record.samples = list(kept["sums"]), int(kept["samples"])
        record.histograms, record.matrices = kept["histograms"], kept["matrices"]
        return record

    def write(self, files: Sequence[str], path: Path) -> None:
        """Write every image's means beside its file and its label map."""
        if path.suffix != ".csv":
            raise ValueError(f"{path.name}: the table of a segmentation run is written as csv")
        columns = [self._means(name) for name in ("confidence", "entropy_after", "entropy_before", "changed")]
        table = np.stack([*columns, self._means("right_after", "known")], axis=1)
        with atomic_write(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for name, sums, means in zip(files, self.sums, table.tolist(), strict=True):
                shares = ["" if np.isnan(mean) else f"{mean:.6f}" for mean in means]
                writer.writerow([name, map_name(name), int(sums[0]), *shares])


def map_name(file: str) -> str:
    """Return where in the folder of a run an image's label map lies."""
    inside = Path(TILE.sub("", file))
    return str(Path(LABEL_MAPS, *[part for part in inside.parts if part not in ("/", "..")]).with_suffix(".png"))
