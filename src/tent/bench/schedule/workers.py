"""Processes that run cases, one each, with the machine's threads divided among them."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from time import sleep

import torch

from tent.bench.execute.adapted_cache import AdaptedCache
from tent.bench.execute.case_progress import Report
from tent.bench.execute.inputs import write_crops_of
from tent.bench.execute.run_case import failure, run_case
from tent.bench.result import Result
from tent.bench.schedule.board import Board, has_ended
from tent.bench.schedule.plan import Job
from tent.bench.store import Store
from tent.environment import keep_memory

Notice = Callable[[Board, Job | None], None]  # told after every change, with the job that ended
PAUSE = 0.5  # seconds between looks at what another run has under way


def attempt(store: Store, job: Job, weights: str | None, since: str, report: Report | None = None) -> Result | None:
    """Return the result of a job, run unless it is there; None while another process runs it.

    Args:
        since: a failure from before this time is tried again.
        report: is told which share of the job is done.
    """
    try:
        with store.lock(job.case):
            store.set_aside(job.case)
            result = store.get(job.case)
            if result is not None and has_ended(result, job, since):
                return result
            if result is None or not result.complete:
                result = _run(store, job, weights, report)
            return _put(store, job, result)
    except BlockingIOError:
        return None


def _run(store: Store, job: Job, weights: str | None, report: Report | None) -> Result:
    try:
        result = run_case(job.case, weights, AdaptedCache(store.folder / ".learnt"), report)
        if not result.complete:
            raise ValueError(f"no {job.case.task_type.label} could be measured")
    except Exception as error:  # noqa: BLE001 (a failing case is on record and does not stop the rest)
        return failure(job.case, error)
    return result


def _put(store: Store, job: Job, result: Result) -> Result:
    try:
        store.put(result := result.with_choices(job.choices))
    except (ValueError, TypeError) as error:  # it has what JSON does not know; a full disk ends the run
        store.put(result := failure(job.case, error).with_choices(job.choices))
    return result


def work(board: Board, notice: Notice) -> None:
    """Run all of a board's jobs, in this process or in as many as the board has workers."""
    board.start()
    notice(board, None)
    write_crops_of(job.case for job in (*board.todo, *board.undecided))
    if board.workers == 1:
        _work_alone(board, notice)
        return
    crew = [Worker(board) for _ in range(board.workers)]
    try:
        _work_together(board, crew, notice)
    finally:
        for worker in crew:
            worker.end()


def _work_alone(board: Board, notice: Notice) -> None:
    while not board.over:
        job = board.take()
        if job is None:
            sleep(PAUSE)
            continue
        notice(board, None)
        result = _run_here(board, job, notice)
        notice(board, job if result else None)
        if result is None:
            sleep(PAUSE)


def _run_here(board: Board, job: Job, notice: Notice) -> Result | None:
    """Run a job in this process; what stops a notice is no fault of the case, and is raised after it."""
    trouble: list[OSError] = []

    def report(share: float) -> None:
        board.note_share(job, share)
        try:
            notice(board, None)
        except OSError as error:
            trouble.append(error)

    result = attempt(board.store, job, board.plan.weights_for(job.case), board.since, report)
    board.end(job, result)
    if trouble:
        raise trouble[0]
    return result


def _work_together(board: Board, crew: list["Worker"], notice: Notice) -> None:
    while not board.over:
        for worker in crew:
            if worker.job is None and (job := board.take()):
                worker.give(job)
        notice(board, None)
        busy = {worker.pipe: worker for worker in crew if worker.job}
        if not busy:
            sleep(PAUSE)
        for worker in [busy[pipe] for pipe in wait(list(busy), PAUSE) if isinstance(pipe, Connection)]:
            if (taken := worker.take()) is None:
                continue
            job, ended = taken
            notice(board, job if ended else None)
            if not ended:
                sleep(PAUSE / board.workers)  # another run has it


class Worker:
    """A process, and the job that it has."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.job: Job | None = None
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        threads = max(1, torch.get_num_threads() // self.board.workers)
        arguments = (theirs, self.board.store.folder, self.board.since, threads)
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        with _ignore_interrupts():
            self.process.start()
        theirs.close()

    def give(self, job: Job) -> None:
        """Hand a job over."""
        self.job = job
        with suppress(OSError):  # it has died, which `take` finds
            self.pipe.send((job, self.board.plan.weights_for(job.case)))

    def take(self) -> tuple[Job, bool] | None:
        """Return the job that it ended, and whether there is a result; a dead process fails its job.

        None while it only says how much of its job is done.
        """
        job = self.job
        if job is None:
            raise RuntimeError("the worker has no job")
        try:
            result = self.pipe.recv()
            if isinstance(result, float):
                self.board.note_share(job, result)
                return None
        except (EOFError, OSError):
            self.process.join()
            result = failure(job.case, self._death()).with_choices(job.choices)
            self.board.store.put(result)
            self._start()
        self.job = None
        if isinstance(result, OSError):
            raise result
        self.board.end(job, result)
        return job, result is not None

    def _death(self) -> str:
        code = self.process.exitcode or 0
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"the process that ran it {how}; where memory was short, use fewer --workers"

    def end(self) -> None:
        """End the process; what it has under way is lost."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def serve(pipe: Connection, folder: os.PathLike[str], since: str, threads: int) -> None:
    """Run the jobs that come through a pipe, until it closes or the process at its other end is gone."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    keep_memory()
    store = Store(folder)  # type: ignore[arg-type]

    def report(share: float) -> None:
        with suppress(OSError):  # who started this is gone, and so will this be
            pipe.send(share)

    while True:
        try:
            job, weights = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            pipe.send(attempt(store, job, weights, since, report))
        except OSError as error:  # a store that cannot be written to ends the run, in the words of one process
            pipe.send(error)


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Let the process that is started inside not hear ctrl-c, from its first moment: who started it ends it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)
