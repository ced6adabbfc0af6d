"""Runs of a suite: killed and resumed, two at once, in several processes, with failing cases."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import tiny

from tent.bench.execute import case_progress
from tent.bench.execute.run_case import run_case
from tent.bench.schedule.board import Board
from tent.bench.schedule.plan import Job, Plan, make_plan
from tent.bench.schedule.workers import attempt, work
from tent.bench.store import Store
from tent.bench.suite import Cell, Choice, Suite
from tent.cli.bench_view import Lines
from tent.files import lock

CASES = len(tiny.ROWS) * len(tiny.COLUMNS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny.laid_out(tmp_path)


@contextmanager
def process(folder: Path, net: str, workers: int = 1) -> Iterator[subprocess.Popen[str]]:
    """A run in a process of its own, and a process group, which is gone at the end."""
    command = [sys.executable, tiny.__file__, str(folder), net, str(workers)]
    ran = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield ran
    finally:
        if ran.poll() is None:
            os.killpg(ran.pid, signal.SIGKILL)
        ran.communicate()


def kept(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((folder / "results").glob("*.json"))}


def numbers(folder: Path) -> dict[str, object]:
    return {name: (json.loads(text)["metrics"], json.loads(text)["by_batch"]) for name, text in kept(folder).items()}


def until(true, seconds: float = 60) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.01)


def test_a_second_run_has_nothing_to_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = tiny.worked(folder)
    files = kept(folder)
    assert (len(first.done), first.before, first.failed) == (CASES, 0, [])
    assert len(files) == CASES
    assert capsys.readouterr().err.splitlines()[-1].endswith("nothing left")
    second = tiny.worked(folder)
    assert (len(second.done), second.before) == (0, CASES)
    assert kept(folder) == files


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_run_loses_the_case_under_way_alone(folder: Path, workers: int) -> None:
    with process(folder, "slow", workers) as ran:
        until(lambda: len(kept(folder)) >= 2)
        os.kill(ran.pid, signal.SIGKILL)  # the one who looks after the board; its workers must notice
        ran.wait()
        until(lambda: not held(folder))
    before = kept(folder)
    assert 2 <= len(before) < CASES
    assert all(json.loads(text)["error"] is None for text in before.values())
    again = tiny.worked(folder, "slow")
    assert (again.before, len(again.done)) == (len(before), CASES - len(before))
    assert {name: text for name, text in kept(folder).items() if name in before} == before
    assert not list((folder / "results").glob("*.damaged"))


def held(folder: Path) -> bool:
    """Tell whether any process has a case under way."""
    for path in (folder / "results" / ".locks").glob("*.lock"):
        try:
            with lock(path, "held"):
                pass
        except BlockingIOError:
            return True
    return False


def test_two_runs_at_once_share_the_work(folder: Path) -> None:
    with process(folder, "slow") as first, process(folder, "slow") as second:
        ran = [each.communicate(timeout=120) for each in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), ran
    ran_by = [out.split()[1::2] for out, _ in ran]
    assert all(ran_by)  # both had a part in it
    assert len({*ran_by[0], *ran_by[1]}) == len(ran_by[0]) + len(ran_by[1]) == CASES  # and no case was run twice
    assert all(json.loads(text)["error"] is None for text in kept(folder).values())
    assert all(err.splitlines()[-1].startswith(f"[{CASES}/{CASES}]") for _, err in ran)  # both waited for the end
    assert not list((folder / "results").glob(".*.making"))


def test_a_case_is_run_once_whoever_asks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(case, *args):  # type: ignore[no-untyped-def]
        calls.append(case)
        assert attempt(store, job, None, "") is None  # another that comes meanwhile
        return run_case(case, *args)

    monkeypatch.setattr("tent.bench.schedule.workers.run_case", counted)
    store, job = Store(folder / "results"), tiny.board(folder).todo[0]
    first = attempt(store, job, None, "")
    assert first is not None
    assert attempt(store, job, None, "") == first
    assert len(calls) == 1


def test_processes_give_the_bits_of_one(folder: Path, tmp_path: Path) -> None:
    tiny.worked(folder)
    one = numbers(folder)
    for path in (folder / "results").glob("*.json"):
        path.unlink()
    assert len(tiny.worked(folder, workers=2).done) == CASES
    assert numbers(folder) == one


def test_a_failing_case_is_on_record_and_the_rest_goes_on(folder: Path) -> None:
    board = tiny.worked(folder, "broken")
    half = CASES // 2
    assert (len(board.done), len(board.failed)) == (half, half)
    results = Store(folder / "results").all()
    assert (
        sorted(str(result.error) for result in results)
        == ["None"] * half + ["RuntimeError: this set is too bright"] * half
    )
    again = tiny.worked(folder, "broken")
    assert (again.before, len(again.failed)) == (half, half)  # tried again


def test_a_failure_is_replaced_once_its_case_can_be_run(folder: Path) -> None:
    tiny.worked(folder, "broken")
    (folder / "mended").touch()
    assert len(tiny.worked(folder, "broken").done) == CASES // 2
    assert [result.error for result in Store(folder / "results").all()] == [None] * CASES


def test_a_process_that_dies_fails_its_case_alone(folder: Path) -> None:
    board = tiny.worked(folder, "deadly", workers=2, rows=1)
    assert (len(board.done), len(board.failed)) == (1, 1)
    assert {why for _, why in board.failed} == {
        "the process that ran it was killed by signal 9; where memory was short, use fewer --workers"
    }


@pytest.mark.parametrize("workers", [1, 2])
def test_a_store_that_cannot_be_written_to_ends_the_run(folder: Path, workers: int) -> None:
    board = tiny.board(folder, workers=workers, rows=1)
    (folder / "results").write_text("a file where the folder belongs")
    with pytest.raises(OSError, match="results"):
        work(board, lambda board, ended: None)


def test_a_damaged_result_is_run_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.worked(folder)
    before = numbers(folder)
    path = sorted((folder / "results").glob("*.json"))[0]
    path.write_text(path.read_text()[:100])
    capsys.readouterr()
    again = tiny.worked(folder)
    assert (again.before, len(again.done)) == (CASES - 1, 1)
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("tent:")]
    assert len(said) == 1
    assert said[0].startswith(f"tent: {path.name} is damaged (")
    assert said[0].endswith(f"set aside as {path.name}.damaged")
    assert numbers(folder) == before


def test_a_model_or_set_that_is_not_there_fails_its_cases_alone(folder: Path) -> None:
    (folder / "bright.npy").unlink()
    board = tiny.worked(folder)
    assert (len(board.done), len(board.failed)) == (CASES // 2, CASES // 2)
    assert all("bright.npy: no such file" in why for _, why in board.failed)
    assert len(kept(folder)) == CASES
    tiny.laid_out(folder)
    assert len(tiny.worked(folder).done) == CASES // 2
    assert {result.error for result in Store(folder / "results").all()} == {None}  # the failures are gone


def test_where_nothing_can_be_run_the_reason_is_raised_and_nothing_is_kept(folder: Path) -> None:
    (folder / "labels.npy").unlink()
    with pytest.raises(ValueError, match=r"labels\.npy: no such file"):
        tiny.board(folder)
    assert not (folder / "results").exists()


def shares_of(board: Board) -> dict[str, list[float]]:
    """Run a board, and return what each row said of how much of a case was done."""
    shares = dict[str, list[float]]()

    def note(board: Board, ended: Job | None) -> None:
        for job, share in board.shares.items():
            seen = shares.setdefault(job.row, [])
            seen.extend([share] if share not in seen[-1:] else [])

    work(board, note)
    assert len(board.done) == board.total
    assert not board.shares
    return shares


def test_a_case_says_how_much_of_it_is_done(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_progress, "PAUSE", 0.0)
    shares, third = shares_of(tiny.board(folder)), [1 / 3, 2 / 3, 1]
    assert shares["Tent"] == pytest.approx([*third, *third])  # two columns
    assert shares["Tent offline"] == pytest.approx([*third, *third])  # what online had learnt was known


def test_other_processes_say_it_too(folder: Path) -> None:
    tiny.laid_out(folder, 240)  # 15 batches of 0.08 seconds, and two reports a second
    shares = shares_of(tiny.board(folder, "slow", workers=2, rows=1))
    assert any(0 < share < 1 for share in shares["Source"])


def test_the_share_of_a_case_counts_all_of_its_passes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_progress, "PAUSE", 0.0)
    shares: list[float] = []
    run_case(tiny.case(folder, when="offline", epochs=2), report=shares.append)
    assert shares == pytest.approx([i / 9 for i in range(1, 10)])  # two passes that learn, one that answers


def test_a_long_case_tells_its_own_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = tiny.board(folder, workers=2, rows=1)
    job, clock = board.take(), [1000.0]
    assert job
    board.todo.clear()
    monkeypatch.setattr("tent.bench.schedule.board.monotonic", lambda: clock[0])
    assert board.left() == (0.0, 1)
    board.note_share(job, 0.1)  # after a long set-up, which does not count
    assert board.left() == (0.0, 1)
    clock[0] += 60.0
    board.note_share(job, 0.25)
    assert board.left() == (pytest.approx(300.0), 0)  # a second worker does not make one case shorter


def test_a_log_that_nobody_reads_any_more_costs_no_case(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_progress, "PAUSE", 0.0)
    board = tiny.board(folder, rows=1)

    def hear(board: Board, ended: Job | None) -> None:
        if board.shares:
            raise BrokenPipeError("nobody reads")

    with pytest.raises(BrokenPipeError, match="nobody reads"):
        work(board, hear)
    assert [result.error for result in Store(folder / "results").all()] == [None]


def test_lines_say_once_a_minute_what_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    board, lines = tiny.board(folder, rows=1), Lines()
    job, other = board.take(), board.take()
    assert job
    assert other
    board.note_share(job, 0.5)
    lines(board, None)
    lines(board, None)
    assert len(capsys.readouterr().err.splitlines()) == 1  # how many there are
    lines.said -= 61.0
    board.end(other, run_case(other.case))
    lines(board, other)  # another that ends does not put it off
    capsys.readouterr()
    lines(board, None)
    lines(board, None)
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" after ")[0] for line in said] == ["Source on dark, seed 0: 50% done"]


def test_the_time_left_comes_from_what_was_measured(folder: Path) -> None:
    board = tiny.board(folder)
    assert board.left() == (0.0, CASES)
    tiny.worked(folder)
    rates = {r.case.method + r.case.when: [] for r in Store(folder / "results").all()}  # type: ignore[var-annotated]
    for result in Store(folder / "results").all():
        rates[result.case.method + result.case.when].append(result.seconds / result.images)
    fresh = tiny.board(folder, limit=12, workers=2)
    expected = sum(2 * 12 * sum(pair) / len(pair) for pair in rates.values()) / 2
    assert fresh.left() == (pytest.approx(expected), 0)


THRESHOLDS = (0, 0.3, 1)


def choosing(folder: Path, net: str = "net") -> Suite:
    """A suite with one PL case, whose threshold is chosen on the bright set."""
    how = {"from": THRESHOLDS, "on": ["bright"], "rule": "lowest mean error"}
    open_ = tiny.case(folder, net=net, method="pl", lr=0.1, choose={"threshold": "bright-choice"})
    bright = tiny.case(folder, "bright", net=net, method="pl", lr=0.1)

    def candidates(limit: int | None) -> list[Cell]:
        return [
            Cell(f"PL {t:g}", "bright", replace(bright, options={"threshold": t}, images=limit)) for t in THRESHOLDS
        ]

    return Suite(
        "choosing",
        "a suite with a choice",
        lambda seeds, limit: [Cell("PL", "dark", replace(open_, seed=seed, images=limit)) for seed in seeds],
        ("PL",),
        ("dark",),
        open_.model,
        choice=Choice("threshold", "bright-choice", candidates, how),
    )


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_choice_is_made_by_its_rule_and_put_on_record(folder: Path, workers: int) -> None:
    store = Store(folder / "results")
    work(Board(make_plan(choosing(folder), (0, 1)), store, workers), lambda board, ended: None)
    results = store.all()
    assert len(results) == len(THRESHOLDS) + 2
    chosen = [result for result in results if result.choices]
    errors = {result.case.options["threshold"]: result.metrics["error"] for result in results if not result.choices}
    best = min(THRESHOLDS, key=lambda t: (errors[t], t))
    assert [result.case.options["threshold"] for result in chosen] == [best, best]
    how = chosen[0].choices["threshold"]
    assert how["errors"] == {f"{t:g}": errors[t] for t in THRESHOLDS}
    assert how["on"] == ["bright"]
    bare = {cell.case for cell in choosing(folder).cells((0, 1), None)}
    assert {result.suite_cases[1] for result in chosen} == bare
    words = chosen[0].protocol["choice of threshold"]
    assert words.startswith(
        f"{best}; suite bright-choice; from 0, 0.3, 1; on bright; rule lowest mean error; mean errors 0: "
    )
    again = Board(make_plan(choosing(folder), (0, 1)), store)
    assert (again.before, again.over) == (len(results), True)


def test_a_choice_goes_on_record_where_its_case_was_run_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(folder / "results")
    suite = choosing(folder)
    (cell,) = suite.cells((0,), None)
    for threshold in THRESHOLDS:  # as someone did who chose by hand
        store.put(run_case(cell.case.decide("threshold", threshold)))
    work(Board(make_plan(suite, (0,)), store), lambda board, ended: None)
    (chosen,) = [each for each in store.all() if each.choices]
    assert cell.case in chosen.suite_cases
    assert chosen.protocol["choice of threshold"]
    assert len(store.all()) == 2 * len(THRESHOLDS)  # nothing was run twice


def test_other_words_for_a_rule_make_no_other_case(folder: Path) -> None:
    store, suite = Store(folder / "results"), choosing(folder)
    work(Board(make_plan(suite, (0,)), store), lambda board, ended: None)
    assert suite.choice is not None
    said = replace(suite, choice=replace(suite.choice, how={"rule": "the lowest error, on average"}))
    board = Board(make_plan(said, (0,)), store)
    assert (board.before, board.over) == (len(THRESHOLDS) + 1, True)


def test_where_a_candidate_fails_what_waits_for_it_fails(folder: Path) -> None:
    store = Store(folder / "results")
    board = Board(make_plan(choosing(folder, "broken"), (0,)), store)
    work(board, lambda board, ended: None)
    assert len(board.failed) == len(THRESHOLDS) + 1
    assert board.failed[-1][1].startswith("threshold could not be chosen: PL 0 on bright failed (RuntimeError")
    (folder / "bright.npy").unlink()
    with pytest.raises(ValueError, match=r"bright\.npy: no such file"):
        make_plan(choosing(folder), (0,))


def test_rows_that_are_one_case_run_once(folder: Path) -> None:
    suite = tiny.suite(folder)
    twice = replace(suite, cells=lambda seeds, limit: [*suite.cells(seeds, limit), *suite.cells(seeds, limit)])
    made: Plan = make_plan(twice, (0,))
    assert len(made.jobs) == CASES
    assert [job.row for job in made.jobs[:2]] == ["Source", "Source"]
    assert isinstance(made.jobs[0], Job)


def test_other_weights_make_another_case(folder: Path) -> None:
    import torch
    from safetensors.torch import save_file

    from tent.bench.execute.inputs import load_entry

    made = make_plan(tiny.suite(folder), (0,))
    state = {
        k: v + 1 if v.is_floating_point() else v for k, v in load_entry(made.suite.model).model.state_dict().items()
    }
    save_file({k: v.contiguous() for k, v in state.items()}, folder / "w.safetensors")
    other = make_plan(tiny.suite(folder), (0,), weights=str(folder / "w.safetensors"))
    assert {job.case.key() for job in made.jobs}.isdisjoint(job.case.key() for job in other.jobs)
    assert {job.case.unpin() for job in made.jobs} == {job.case.unpin() for job in other.jobs}
    assert isinstance(state["fc.weight"], torch.Tensor)
    board = Board(other, Store(folder / "results"))
    work(board, lambda board, ended: None)
    assert len(board.done) == CASES
