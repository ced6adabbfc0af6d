"""Work that is divided among processes."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

Map = Callable[[Callable[[Any], int], Iterable[Any]], Iterator[int]]


@contextmanager
def start_processes(count: int) -> Iterator[Map]:
    """Hand out a `map` that works in so many processes of one thread each; one is this process itself."""
    if count == 1:
        yield map
        return
    # spawned, not forked: torch's threads do not survive a fork
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _use_one_thread) as pool:
        yield pool.map


def _use_one_thread() -> None:
    import torch

    torch.set_num_threads(1)
