"""Reading ahead: what comes next is read in a thread while what came before is worked on."""

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(read: Callable[[int], Item], count: int, most: int) -> Generator[Item, None, None]:
    """Yield read(0) to read(count - 1), called one after another in a thread; an error is raised in its turn.

    Args:
        most: of what was read, or is being read, and was not yet asked for.
    """
    reader, upcoming = ThreadPoolExecutor(1, "tent-prefetch"), iter(range(count))
    waiting: deque[Future[Item]] = deque(reader.submit(read, number) for number in islice(upcoming, most))
    try:
        while waiting:
            wait((waiting[0],))
            waiting.extend(reader.submit(read, number) for number in islice(upcoming, 1))
            yield waiting.popleft().result()  # under no name, so that it is free when the caller lets go of it
    finally:
        reader.shutdown(cancel_futures=True)  # and waits for the read that is under way: no thread outlives the loop
