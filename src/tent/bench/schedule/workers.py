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

from tent.bench.execute.run import failed
from tent.bench.schedule.attempt import attempt
from tent.bench.schedule.board import Board
from tent.bench.schedule.plan import Task, file_for
from tent.bench.store import Store
from tent.engine.memory import keep_memory

Notice = Callable[[Board, Task | None], None]  # told after every change, with the task that ended
PAUSE = 0.5  # seconds between looks at what another run has under way


def work(board: Board, notice: Notice) -> None:
    """Run all of a board's tasks, in this process or in as many as the board has workers."""
    board.start()
    notice(board, None)
    if board.workers == 1:
        _alone(board, notice)
        return
    crew = [Worker(board) for _ in range(board.workers)]
    try:
        _together(board, crew, notice)
    finally:
        for worker in crew:
            worker.end()


def _alone(board: Board, notice: Notice) -> None:
    while not board.over:
        task = board.take()
        if task is None:
            sleep(PAUSE)
            continue
        notice(board, None)
        result = attempt(board.store, task.case, file_for(board.plan, task.case), board.since)
        board.end(task, result)
        notice(board, task if result else None)
        if result is None:
            sleep(PAUSE)


def _together(board: Board, crew: list["Worker"], notice: Notice) -> None:
    while not board.over:
        for worker in crew:
            if worker.task is None and (task := board.take()):
                worker.give(task)
        notice(board, None)
        busy = {worker.pipe: worker for worker in crew if worker.task}
        if not busy:
            sleep(PAUSE)
        for worker in [busy[pipe] for pipe in wait(list(busy), PAUSE) if isinstance(pipe, Connection)]:
            task, found = worker.take()
            notice(board, task if found else None)
            if not found:
                sleep(PAUSE / board.workers)  # another run has it


class Worker:
    """A process, and the task that it has."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.task: Task | None = None
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        threads = max(1, torch.get_num_threads() // self.board.workers)
        arguments = (theirs, self.board.store.folder, self.board.since, threads)
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        with _deaf():
            self.process.start()
        theirs.close()

    def give(self, task: Task) -> None:
        """Hand a task over."""
        self.task = task
        with suppress(OSError):  # it has died, which `take` finds
            self.pipe.send((task.case, file_for(self.board.plan, task.case)))

    def take(self) -> tuple[Task, bool]:
        """Return the task that it ended, and whether there is a result; a dead process fails its task."""
        task, self.task = self.task, None
        if task is None:
            raise RuntimeError("the worker has no task")
        try:
            result = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            result = failed(task.case, self._death())
            self.board.store.put(result)
            self._start()
        if isinstance(result, OSError):
            raise result
        self.board.end(task, result)
        return task, result is not None

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
    """Run the cases that come through a pipe, until it closes or the process at its other end is gone."""
    threading.Thread(target=_outlive_nobody, daemon=True).start()
    torch.set_num_threads(threads)
    keep_memory()
    store = Store(folder)  # type: ignore[arg-type]
    while True:
        try:
            case, weights = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            pipe.send(attempt(store, case, weights, since))
        except OSError as error:  # a store that cannot be written to ends the run, in the words of one process
            pipe.send(error)


@contextmanager
def _deaf() -> Iterator[None]:
    """Let the process that is started inside not hear ctrl-c, from its first moment: who started it ends it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)


def _outlive_nobody() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)
