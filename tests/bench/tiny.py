"""A tiny suite on toy nets and random images; as a script, a run of it in a process of its own."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tent.bench.case import Case, Data
from tent.bench.execute.run_case import run_case
from tent.bench.result import Result
from tent.bench.schedule import workers as workers_module
from tent.bench.schedule.board import Board
from tent.bench.schedule.plan import make_plan
from tent.bench.schedule.workers import work
from tent.bench.store import Store
from tent.bench.suite import Cell, Suite, grid
from tent.cli.bench_view import Lines
from tent.engine.execution import Execution
from tent.tasks import Classification

NETS = """
import os
import signal
import time

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, classes, bias=False)
        nn.init.normal_(self.fc.weight, std=4)

    def forward(self, x):
        return self.fc(self.bn(self.conv(x)).relu().mean((2, 3)))


class Slow(Net):
    def forward(self, x):
        time.sleep(0.08)
        return super().forward(x)


class Broken(Net):
    def forward(self, x):
        if x.mean() > 0.5 and not os.path.exists(os.path.join(os.path.dirname(__file__), "mended")):
            raise RuntimeError("this set is\\ntoo bright")
        return super().forward(x)


class Deadly(Net):
    def forward(self, x):
        if x.mean() > 0.5:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(x)


net, slow, broken, deadly = Net, Slow, Broken, Deadly


def thousand():
    return Net(1000)


def twelve():
    return Net(12)


def seven():
    return Net(7)


def ten():
    return Net(10)
"""
ROWS = ("Source", "BN", "Tent", "Tent offline")
COLUMNS = ("dark", "bright")


def check_no_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make no pass to check the lean path by, which would be one more than a method makes."""
    monkeypatch.setattr(Execution, "run", lambda self, call, inputs, agree=bool: self._attempt(call, inputs))


def laid_out(folder: Path, images: int = 48) -> Path:
    """Write the nets and two sets of images, and return the folder."""
    (folder / "nets.py").write_text(NETS)
    generator = np.random.default_rng(0)
    np.save(folder / "labels.npy", np.arange(images) % 5)
    for low, name in zip((0, 100), COLUMNS, strict=True):
        colours = generator.integers(low, low + 120, (images, 1, 1, 3))  # or all images are alike to a mean over pixels
        np.save(folder / f"{name}.npy", (colours + generator.integers(0, 36, (images, 8, 8, 3))).astype(np.uint8))
    return folder


def case(folder: Path, column: str = "dark", net: str = "net", **options: object) -> Case:
    data = Data(f"npy:{folder / column}.npy,{folder / 'labels.npy'}")
    return replace(Case(f"{folder / 'nets.py'}:{net}", data, "tent", batch_size=16), **options)  # type: ignore[arg-type]


def suite(folder: Path, net: str = "net", first: int = len(ROWS)) -> Suite:
    def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
        tent = case(folder, net=net, optimizer="adam", lr=0.01, images=limit)
        source = case(folder, net=net, method="source", images=limit)
        cases = (source, replace(source, method="bn"), tent, replace(tent, when="offline"))
        rows = list(zip(ROWS, cases, strict=True))[:first]
        return [cell for seed in seeds for cell in grid(rows, [(name, _on(folder, name, seed)) for name in COLUMNS])]

    return Suite("tiny", "a tiny suite", cells, ROWS, COLUMNS, f"{folder / 'nets.py'}:{net}", means={"mean": COLUMNS})


def measure(logits: Sequence[Any], labels: Sequence[Any]) -> dict[str, float]:
    """Return the metrics of batches of answers."""
    task = Classification()
    for z, y in zip(logits, labels, strict=True):
        task.update(torch.as_tensor(z), torch.as_tensor(y))
    return task.compute()


def _on(folder: Path, column: str, seed: int):  # type: ignore[no-untyped-def]
    return lambda each: replace(each, data=case(folder, column).data, seed=seed)


def board(folder: Path, net: str = "net", workers: int = 1, limit: int | None = None, rows: int = len(ROWS)) -> Board:
    return Board(make_plan(suite(folder, net, rows), (0,), limit), Store(folder / "results"), workers)


def worked(folder: Path, net: str = "net", workers: int = 1, rows: int = len(ROWS)) -> Board:
    made = board(folder, net, workers, rows=rows)
    work(made, Lines())
    return made


def _told(case: Case, *more: Any) -> Result:
    print("ran", case.key(), flush=True)
    return run_case(case, *more)


if __name__ == "__main__":
    workers_module.run_case = _told
    worked(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
