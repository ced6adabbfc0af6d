"""Progress: plain lines where there is no terminal, a bar where there is one."""

import io
import sys
from types import SimpleNamespace

import pytest

from tent.train import progress
from tent.train.progress import Lines, show


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def run():
    return SimpleNamespace(step=0, steps=20, epoch_steps=10, recipe=SimpleNamespace(epochs=2))


def lines_of(run, steps, seconds, capsys, monkeypatch):
    """What is said of a run whose steps take so many seconds."""
    now = 0.0
    monkeypatch.setattr(progress, "monotonic", lambda: now)
    lines = Lines(run)
    for run.step in range(1, steps + 1):
        now += seconds
        lines(run, 1.5, 0.25)
    return capsys.readouterr().err.splitlines()


def test_a_line_each_epoch_with_the_time_that_is_left(run, capsys, monkeypatch):
    assert lines_of(run, 20, 4, capsys, monkeypatch) == [
        "epoch 1/2: loss 1.5000, training error 25.00%, epoch took 40 s, 40 s left",
        "epoch 2/2: loss 1.5000, training error 25.00%, epoch took 40 s, 0 s left",
    ]


def test_a_long_epoch_is_heard_of_each_minute(run, capsys, monkeypatch):
    said = lines_of(run, 9, 20, capsys, monkeypatch)
    assert [line.split(":")[0] for line in said] == [f"epoch 0/2 and {place}/10 steps" for place in (3, 6, 9)]


def test_a_run_that_goes_on_says_so(run, capsys):
    run.step = 7
    with show(run):
        assert capsys.readouterr().err == "continuing after 7 of 20 steps\n"


def test_a_terminal_gets_a_bar(run, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with show(run) as watch:
        for run.step in range(1, 21):
            watch(run, 1.5, 0.25)
    assert "epoch 2/2, loss 1.500, training error 25.0%" in terminal.getvalue()
    assert "0 s left" in terminal.getvalue()
