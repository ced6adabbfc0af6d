"""Segmentation against a confusion matrix that was counted by hand."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tent.tasks import Segmentation
from tent.tasks.segmentation import resize_logits, resize_rows

IGNORE = 255
# pixels by label and answer: 0 as 0 three times, 0 as 1 once, 1 as 1 twice; two are ignored; class 2 is never met
LABELS = torch.tensor([[[0, 0, 0, 0], [1, 1, IGNORE, IGNORE]]])
ANSWERS = torch.tensor([[[0, 0, 0, 1], [1, 1, 0, 2]]])


def logits(answers: torch.Tensor, classes: int = 3) -> torch.Tensor:
    return F.one_hot(answers, classes).movedim(-1, 1).float() * 5


def measure(answers: torch.Tensor, labels: torch.Tensor, classes: int = 3) -> dict[str, float]:
    task = Segmentation(classes)
    task.update(logits(answers, classes), labels)
    return task.compute()


def test_confusion_matrix() -> None:
    task = Segmentation(3)
    task.update(logits(ANSWERS), LABELS)
    assert np.array_equal(task.matrix, [[3, 1, 0], [0, 2, 0], [0, 0, 0]])


def test_iou_of_each_class_and_both_means() -> None:
    metrics = measure(ANSWERS, LABELS)
    assert metrics["iou_0"] == pytest.approx(3 / 4)
    assert metrics["iou_1"] == pytest.approx(2 / 3)
    assert math.isnan(metrics["iou_2"])  # neither a label nor an answer
    assert metrics["mean_iou"] == pytest.approx((3 / 4 + 2 / 3) / 2)
    assert metrics["mean_iou_absent_zero"] == pytest.approx((3 / 4 + 2 / 3 + 0) / 3)
    assert metrics["pixel_accuracy"] == pytest.approx(5 / 6)


def test_a_class_that_is_only_answered_counts_in_both_means() -> None:
    metrics = measure(torch.tensor([[[0, 2]]]), torch.tensor([[[0, 0]]]))
    assert metrics["iou_2"] == 0.0
    assert metrics["mean_iou"] == pytest.approx((1 / 2 + 0) / 2)
    assert metrics["mean_iou_absent_zero"] == pytest.approx((1 / 2 + 0 + 0) / 3)


def test_classes_that_the_labels_cannot_be_are_in_neither_mean() -> None:
    task = Segmentation(4, iou_classes=(0, 1, 3))
    task.update(logits(torch.tensor([[[0, 1], [2, 1]]]), 4), torch.tensor([[[0, 1], [1, 0]]]))
    metrics = task.compute()  # IoUs of 1/2, 1/3, 0 and none
    assert metrics["mean_iou"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert metrics["mean_iou_absent_zero"] == pytest.approx((1 / 2 + 1 / 3) / 3)
    assert metrics["iou_2"] == 0


def test_iou_is_of_the_whole_stream_not_a_mean_of_batches() -> None:
    task, one = Segmentation(3), Segmentation(3)
    task.update(logits(ANSWERS[:, :1]), LABELS[:, :1])
    one.update(logits(ANSWERS[:, 1:]), LABELS[:, 1:])
    task.merge(one)
    assert task.compute()["mean_iou"] == measure(ANSWERS, LABELS)["mean_iou"]
    assert one.compute()["mean_iou"] == 1.0


def test_as_hrnet_counts_it() -> None:
    random = np.random.default_rng(0)
    labels, answers = random.integers(0, 5, (2, 6, 7)), random.integers(0, 5, (2, 6, 7))
    labels[0, 0] = IGNORE
    matrix = np.zeros((7, 7))
    for label, answer in zip(labels.ravel(), answers.ravel(), strict=True):
        if label != IGNORE:
            matrix[label, answer] += 1
    pos, res, tp = matrix.sum(1), matrix.sum(0), np.diag(matrix)
    metrics = measure(torch.from_numpy(answers), torch.from_numpy(labels), classes=7)
    assert metrics["mean_iou_absent_zero"] == pytest.approx((tp / np.maximum(1.0, pos + res - tp)).mean())
    assert metrics["pixel_accuracy"] == pytest.approx(tp.sum() / pos.sum())
    assert metrics["mean_iou"] == pytest.approx((tp / np.maximum(1.0, pos + res - tp))[:5].mean())


def test_small_logits_are_resized_to_the_labels_before_the_answer() -> None:
    # bilinear between 3 and -1 and between 0 and 0: at 1/8, 3/8, 5/8 and 7/8 it is 3, 2, 0 and -1
    small = torch.tensor([[[[3.0, -1.0]], [[0.5, 0.5]]]])
    task = Segmentation(2)
    task.update(small, torch.tensor([[[0, 0, 1, 1]]]))
    assert np.array_equal(task.matrix, [[2, 0], [0, 2]])
    assert (Segmentation.primary, Segmentation.higher_is_better, Segmentation.label) == ("mean_iou", True, "mIoU")


def test_everything_equals_a_plain_recomputation() -> None:
    """Pixel by pixel, over two batches of logits that are smaller than their labels."""
    torch.manual_seed(0)
    task, matrix, spread = Segmentation(4), np.zeros((4, 4)), []
    for n in (2, 1):
        small, labels = torch.randn(n, 4, 5, 6), torch.randint(4, (n, 9, 11))
        labels[:, 2:4] = IGNORE
        task.update(small, labels)
        wide = F.interpolate(small, size=(9, 11), mode="bilinear", align_corners=False)
        for image in range(n):
            for row in range(9):
                for column in range(11):
                    if (label := int(labels[image, row, column])) != IGNORE:
                        p = wide[image, :, row, column].double().softmax(0)
                        matrix[label, int(p.argmax())] += 1
                        spread.append(float(-(p * p.log()).sum()))
    iou = [matrix[c, c] / (matrix[c].sum() + matrix[:, c].sum() - matrix[c, c]) for c in range(4)]
    metrics = task.compute()
    assert np.array_equal(task.matrix, matrix)
    assert [metrics[f"iou_{c}"] for c in range(4)] == pytest.approx(iou)
    assert metrics["mean_iou"] == metrics["mean_iou_absent_zero"] == pytest.approx(np.mean(iou))
    assert metrics["pixel_accuracy"] == pytest.approx(matrix.trace() / matrix.sum())
    assert metrics["entropy"] == pytest.approx(np.mean(spread), rel=1e-5)


def test_a_batch_of_ignored_pixels_has_no_metrics() -> None:
    metrics = measure(ANSWERS, torch.full_like(LABELS, IGNORE))
    assert all(math.isnan(value) for value in metrics.values())


@pytest.mark.parametrize(
    ("answer", "labels", "message"),
    [
        (logits(ANSWERS), LABELS + 3, "a label is 4, but the model answers with 3 classes"),
        (logits(ANSWERS), LABELS.clamp(max=1) - 1, "a label is -1"),
        (logits(ANSWERS, 4), LABELS, "the data has 3 classes, but the model answers in shape"),
        (logits(ANSWERS) * torch.nan, LABELS, "answered 1 of 1 images with NaN or Inf"),
        (logits(ANSWERS), LABELS[0], "labels of shape"),
    ],
)
def test_what_cannot_be_measured_is_refused(answer: torch.Tensor, labels: torch.Tensor, message: str) -> None:
    labels = torch.where(labels == IGNORE + 3, IGNORE, labels)
    with pytest.raises(ValueError, match=message):
        Segmentation(3).update(answer, labels)


@pytest.mark.parametrize("size", [(11, 9), (31, 17), (5, 7), (64, 64)])
def test_some_rows_of_resized_logits_are_those_of_all(size: tuple[int, int]) -> None:
    given = torch.randn(2, 4, 11, 9, dtype=torch.float64)
    bands = [range(start, min(start + 3, size[0])) for start in range(0, size[0], 3)]
    found = torch.cat([resize_rows(given, size, band) for band in bands], dim=2)
    torch.testing.assert_close(found, resize_logits(given, size), rtol=0, atol=1e-12)
