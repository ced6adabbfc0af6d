"""The run behind the figures shows one progress over all its streams."""

from collections.abc import Iterable, Iterator

import pytest
from analysis_streams import grid, models

from tent.analysis import Calibration, analyse
from tent.data.stream import Batch


@pytest.mark.parametrize("epochs", [0, 2])
def test_progress_is_over_the_batches_of_all_streams(epochs: int) -> None:
    streams, told, closed = grid(), [], []

    def track(batches: Iterable[Batch], what: str, count: int) -> Iterator[Batch]:
        told.append((what, count))
        try:
            for number, batch in enumerate(batches, 1):
                yield batch
                told.append((what, number))
        finally:
            closed.append(what)

    analyse(models(), streams, [Calibration()], track, epochs=epochs)
    active = {domain: stream for domain, stream in streams.items() if not domain.original or Calibration.sees_original}
    what, total = f"analysing {len(active)} streams", (1 + epochs) * sum(map(len, active.values()))
    assert told == [(what, total), *((what, number) for number in range(1, total + 1))]
    assert closed == [what]


def test_a_run_that_ends_early_closes_its_progress() -> None:
    closed = []

    def track(batches: Iterable[Batch], what: str, count: int) -> Iterator[Batch]:
        try:
            yield from batches
        finally:
            closed.append(what)

    class Broken(Calibration):
        def add(self, seen: object) -> None:
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        analyse(models(), grid(), [Broken()], track)
    assert len(closed) == 1
