"""A segmentation case: its mean IoU is the one that a plain loop over images, logits and label maps gives."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import tent
from tent.bench.case import Case, Data
from tent.bench.execute.inputs import load_entry
from tent.bench.execute.run_case import run_case

NETS = """
import torch
from torch import nn

from tent.data import Preprocess


def net():
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3, 2, 1)
    return nn.Sequential(*layers), Preprocess(mean=(0.5, 0.4, 0.3), std=(0.2, 0.2, 0.25))
"""
IDS = (7, 8, 11, 0)  # the last is not counted, and no label is of the model's last class
IMAGES, BATCH = 5, 2


@pytest.fixture
def case(tmp_path: Path) -> Case:
    (tmp_path / "nets.py").write_text(NETS)
    random = np.random.default_rng(0)
    for name in ("images", "labels"):
        (tmp_path / name).mkdir()
    for i in range(IMAGES):
        places = random.integers(0, len(IDS), (5, 6)).repeat(4, 0).repeat(4, 1)  # (20, 24)
        noise = random.integers(0, 60, (*places.shape, 3))
        colours = np.array([[20, 40, 60], [90, 150, 30], [190, 60, 120], [120, 120, 120]])
        Image.fromarray((colours[places] + noise).astype(np.uint8)).save(tmp_path / f"images/{i}.png")
        Image.fromarray(np.array(IDS, np.uint8)[places]).save(tmp_path / f"labels/{i}.png")
    (tmp_path / "classes.json").write_text('{"0": null, "7": "road", "8": "sidewalk", "11": "building", "26": "car"}')
    data = Data(f"pairs:{tmp_path / 'images'},{tmp_path / 'labels'},{tmp_path / 'classes.json'}")
    options = {"batch_size": BATCH, "order": "stored", "task": "segmentation", "optimizer": "sgd", "lr": 0.05}
    return Case(f"{tmp_path / 'nets.py'}:net", data, "tent", **options)  # type: ignore[arg-type]


def batches(case: Case) -> Iterator[tuple[torch.Tensor, np.ndarray]]:
    """Read the files of a case, and turn ids into classes, by hand."""
    folder = Path(case.model.partition(":")[0]).parent
    table = np.full(256, 255)
    table[list(IDS[:3])] = range(3)
    for first in range(0, IMAGES, case.batch_size):
        names = [f"{i}.png" for i in range(first, min(first + case.batch_size, IMAGES))]
        pixels = np.stack([np.asarray(Image.open(folder / "images" / name)) for name in names]) / 255
        x = (pixels - (0.5, 0.4, 0.3)) / (0.2, 0.2, 0.25)
        labels = table[np.stack([np.asarray(Image.open(folder / "labels" / name)) for name in names])]
        yield torch.from_numpy(x).float().permute(0, 3, 1, 2), labels


def mean_iou(logits: list[torch.Tensor], labels: list[np.ndarray]) -> tuple[float, float]:
    """Return the mean IoU over classes that are there, and over all four with 0 for those that are not."""
    right, union = np.zeros(4), np.zeros(4)
    for z, y in zip(logits, labels, strict=True):
        whole = torch.nn.functional.interpolate(z.detach(), size=y.shape[1:], mode="bilinear", align_corners=False)
        answers, known = whole.argmax(1).numpy(), y != 255
        for c in range(4):
            right[c] += ((answers == c) & (y == c)).sum()
            union[c] += (((answers == c) | (y == c)) & known).sum()
    iou = right / np.where(union, union, np.nan)
    return float(np.nanmean(iou)), float(np.nan_to_num(iou).mean())


def answer(case: Case, adapted: tent.Adapted) -> tuple[float, float]:
    pairs = [(adapted(x), y) for x, y in batches(case)]
    return mean_iou([logits for logits, _ in pairs], [labels for _, labels in pairs])


def scores(case: Case) -> tuple[float, float]:
    found = run_case(case).metrics
    return found["mean_iou"], found["mean_iou_absent_zero"]


def start(case: Case, **options: object) -> tent.Adapted:
    return tent.adapt(load_entry(case.model).model, tent.Tent(), optimizer=torch.optim.SGD, lr=0.05, **options)  # type: ignore[arg-type]


def test_source_and_online(case: Case) -> None:
    source = replace(case, method="source", optimizer=None, lr=None)
    before = answer(case, tent.adapt(load_entry(case.model).model, tent.Source()))
    after = answer(case, start(case))
    assert scores(source) == pytest.approx(before, abs=1e-9)
    assert scores(case) == pytest.approx(after, abs=1e-9)
    assert before != after


@pytest.mark.parametrize("epochs", [1, 3])
def test_offline(case: Case, epochs: int) -> None:
    adapted = start(case)
    for _ in range(epochs):
        adapted.fit(x for x, _ in batches(case))
    with adapted.paused():
        due = answer(case, adapted)
    assert scores(replace(case, when="offline", epochs=epochs)) == pytest.approx(due, abs=1e-9)


@pytest.mark.parametrize("steps", [1, 4])
def test_reset_before_every_batch(case: Case, steps: int) -> None:
    alone = replace(case, batch_size=1, reset="batch", steps=steps, answers="after")
    logits, labels = [], []
    for x, y in batches(alone):
        logits.append(start(case, steps=steps, answers="after")(x))  # a new one for every image
        labels.append(y)
    assert scores(alone) == pytest.approx(mean_iou(logits, labels), abs=1e-9)
