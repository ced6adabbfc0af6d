"""One attempt at a case: alone among all processes on its store, and kept whatever comes of it."""

from tent.bench.case import Case
from tent.bench.execute.adapted_cache import Lessons
from tent.bench.execute.run import failed, run
from tent.bench.result import Result
from tent.bench.schedule.board import settled
from tent.bench.store import Store


def attempt(store: Store, case: Case, weights: str | None, since: str) -> Result | None:
    """Return the result of a case, run unless it is there; None while another process runs it.

    Args:
        since: a failure from before this time is tried again.
    """
    try:
        with store.lock(case):
            kept = store.get(case)
            if kept is not None and settled(kept, since):
                return kept
            try:
                result = run(case, weights, Lessons(store.folder / ".learnt"))
            except Exception as error:  # noqa: BLE001 (a failing case is on record and does not stop the rest)
                result = failed(case, error)
            store.put(result)
            return result
    except BlockingIOError:
        return None
