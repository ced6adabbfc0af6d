"""Semantic segmentation: a confusion matrix of pixels, and intersection over union of every class."""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tent.losses import entropy
from tent.tasks.task import Sums, Task

IGNORE = 255  # the label of pixels that are not counted, in every set's maps


class Segmentation(Task):
    """A class for each pixel: logits (n, classes, h, w), resized to the labels (n, H, W) where they differ.

    Args:
        classes: the number of classes, as many as the model answers with.
        ignore: the label of pixels that are not counted.
        iou_classes: the classes whose IoU both means are of, where labels know fewer than the model; all by default.
    """

    metrics = ("mean_iou", "mean_iou_absent_zero", "pixel_accuracy", "entropy")
    primary, label, higher_is_better = "mean_iou", "mIoU", True

    def __init__(self, classes: int, ignore: int | None = IGNORE, iou_classes: Sequence[int] | None = None) -> None:
        super().__init__(classes, ignore)
        self.iou_classes = list(range(classes or 0) if iou_classes is None else iou_classes)

    def count(self, logits: Tensor, labels: Tensor) -> Sums:
        """Return the confusion matrix, by label (rows) and answer (columns), and below it the sum of entropies."""
        n = self.classes or 0
        if logits.dim() != 4 or logits.shape[1] != n:
            raise ValueError(f"the data has {n} classes, but the model answers in shape {tuple(logits.shape)}")
        y = labels.to(logits.device).long()
        if y.dim() != 3 or len(y) != len(logits):
            raise ValueError(f"labels of shape {tuple(labels.shape)} for logits of shape {tuple(logits.shape)}")
        _check_finite(logits)
        logits = logits.detach() if logits.dtype == torch.float64 else logits.detach().float()
        logits = resize_logits(logits, y.shape[1:])
        counted = torch.ones_like(y, dtype=torch.bool) if self.ignore is None else y != self.ignore
        y, answers = y[counted], logits.argmax(1)[counted]
        if len(y) and (int(y.max()) >= n or int(y.min()) < 0):
            wrong = int(y.max()) if int(y.max()) >= n else int(y.min())
            raise ValueError(f"a label is {wrong}, but the model answers with {n} classes")
        matrix = torch.bincount(y * n + answers, minlength=n * n).reshape(n, n)
        spread = sum(float(entropy(one[None])[0][own].double().sum()) for one, own in zip(logits, counted, strict=True))
        return np.concatenate([matrix.cpu().numpy().astype(np.float64), [[spread] + [0.0] * (n - 1)]])

    @property
    def matrix(self) -> Sums:
        """The confusion matrix of what was counted."""
        return np.zeros((self.classes or 0,) * 2) if self.sums is None else self.sums[:-1]

    def compute(self) -> dict[str, float]:
        """Return both means of the IoU, the pixel accuracy, the mean entropy of a pixel and the IoU of each class.

        A class that neither labels nor answers hold has no IoU: `mean_iou` leaves it out, and
        `mean_iou_absent_zero` counts it as 0, as HRNet's evaluation does.
        """
        matrix = self.matrix
        right, union = matrix.diagonal(), matrix.sum(0) + matrix.sum(1) - matrix.diagonal()
        iou = np.divide(right, union, out=np.full(len(union), np.nan), where=union > 0)
        if self.sums is None or not matrix.sum():
            return dict.fromkeys([*self.metrics, *_by_class(iou)], float("nan"))
        shares = (right.sum() / matrix.sum(), self.sums[-1, 0] / matrix.sum())
        own = iou[self.iou_classes]
        means = (np.nanmean(own), np.nan_to_num(own).mean(), *shares)
        return {**{name: float(mean) for name, mean in zip(self.metrics, means, strict=True)}, **_by_class(iou)}


def resize_logits(logits: Tensor, size: Sequence[int]) -> Tensor:
    """Return logits (n, classes, h, w) at a height and width, between pixels by bilinear interpolation."""
    if tuple(logits.shape[2:]) == tuple(size):
        return logits
    return F.interpolate(logits, size=tuple(size), mode="bilinear", align_corners=False)


def resize_rows(logits: Tensor, size: Sequence[int], rows: range) -> Tensor:
    """Return some rows of what `resize_logits` returns, for answers that are too large for memory as a whole."""
    height = logits.shape[2]
    places = torch.arange(rows.start, rows.stop, device=logits.device, dtype=logits.dtype)
    places = ((places + 0.5) * (height / size[0]) - 0.5).clamp(min=0)
    above = places.floor().long()
    below, share = (above + 1).clamp(max=height - 1), (places - above).view(-1, 1)
    between = logits[:, :, above] * (1 - share) + logits[:, :, below] * share  # (n, classes, rows, w)
    return resize_logits(between, (len(rows), size[1]))


def _check_finite(logits: Tensor) -> None:
    if not bool(logits.isfinite().all()):
        bad = int((~logits.isfinite()).flatten(1).any(1).sum())
        raise ValueError(f"the model answered {bad:,} of {len(logits):,} images with NaN or Inf; nothing to measure")


def _by_class(iou: Sums) -> dict[str, float]:
    return {f"iou_{i}": float(value) for i, value in enumerate(iou)}
