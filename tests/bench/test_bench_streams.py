"""Hard streams: source images for those who need them, streams that do not wait, and the suites of both."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny

from tent.bench.case import Case, Data
from tent.bench.execute.inputs import build_stream, load_entry
from tent.bench.execute.run_case import run_case
from tent.bench.read.query import read_grid
from tent.bench.suites import SUITES
from tent.bench.suites.streams import domains
from tent.data.corruptions import BENCHMARK

ANCHORED = '''
import torch
import tent

class Anchored(tent.Tent):
    """Tent that has to see source images first, and stays where they brighten it."""

    needs = frozenset({"source data"})

    def prepare(self, state, batches):
        images = [seen.inputs[0][0] for seen in batches]
        state.tensors["mean"] = torch.cat(images).mean()
        state.tensors["count"] = torch.tensor(float(sum(map(len, images))))
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "anchored.py").write_text(ANCHORED)
    return tiny.laid_out(tmp_path)


def test_source_images_are_shown_before_the_stream_and_are_a_part_of_the_case(folder: Path) -> None:
    bright = tiny.case(folder, "bright").data[0]
    case = tiny.case(folder, method=f"{folder / 'anchored.py'}:Anchored", lr=0.1, images=16)
    refused = "needs source data"
    with pytest.raises(ValueError, match=refused):
        run_case(case)
    shown = replace(case, prepare=replace(bright, part=(0, 20)))
    result = run_case(shown)
    assert "images 0 to 20" in result.protocol["source images"]
    assert result.metrics == run_case(tiny.case(folder, lr=0.1, images=16)).metrics
    assert shown.key() != case.key()
    assert result.case.prepare is not None
    assert result.case.prepare.sha256
    assert Case.from_json(result.case.to_json()) == result.case


def test_a_method_that_is_slower_than_the_stream_updates_on_what_it_can(folder: Path) -> None:
    waits, hurried = (tiny.case(folder, lr=0.1, batch_size=8, pace=pace) for pace in (None, 1.0))
    assert run_case(waits).counts["updates"] == 6
    found = run_case(hurried)
    assert found.counts["updates"] == 2  # one forward and one backward are three passes: every third batch
    assert found.counts["forwards"] == 48
    assert found.counts["backwards"] == 16
    assert "answered without" in found.protocol["pace"]
    assert run_case(replace(hurried, pace=3.0)).metrics == run_case(waits).metrics
    still = replace(hurried, method="bn", lr=None)
    assert run_case(still).metrics == run_case(replace(still, pace=None)).metrics


# an answer of two passes, also where nothing is updated
SLOW = """
import tent

class Slow(tent.Tent):
    def answer(self, seen, state):
        args, kwargs = seen.inputs
        state.forward(*args, **kwargs, grad=False)
        return state.forward(*args, **kwargs, grad=False).output
"""


def test_a_late_answer_pays_for_what_it_takes_beyond_one_pass(folder: Path) -> None:
    (folder / "slow.py").write_text(SLOW)
    case = tiny.case(folder, method=f"{folder / 'slow.py'}:Slow", lr=0.1, batch_size=8, pace=1.0)
    # three forward and one backward passes are five units; without a charge the last of six batches would be in time
    assert run_case(case).counts["updates"] == 1
    assert run_case(replace(case, pace=5.0)).counts["updates"] == 6


def test_bursts_are_drawn_anew_for_every_type(folder: Path) -> None:
    case = tiny.case(folder, order="correlated:0.1")
    types = case.data[0], replace(tiny.case(folder, "bright").data[0])
    stream = build_stream(case, types, load_entry(case.model))
    labels = np.concatenate([batch.labels for batch in stream])
    half = len(labels) // 2
    assert sorted(labels[:half]) == sorted(labels[half:])
    assert labels[:half].tolist() != labels[half:].tolist()
    again = build_stream(case, types, load_entry(case.model))
    assert labels.tolist() == np.concatenate([batch.labels for batch in again]).tolist()


def test_a_method_that_is_added_to_a_stream_is_read_type_by_type() -> None:
    cells = SUITES["continual"].with_method("pl").cells((0,), 20)
    own = {cell.column: cell.domain for cell in cells if cell.row == "PL"}
    assert own == {cell.column: cell.domain for cell in cells if cell.row == "Tent"}
    assert all(own.values())


@pytest.mark.parametrize("more", [{"when": "offline"}, {"epochs": 2}, {"pace": 0.0}])
def test_a_pace_is_for_one_online_pass(folder: Path, more: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="pace"):
        tiny.case(folder, **{"pace": 1.0, **more})


@pytest.mark.parametrize("order", ["sorted", "correlated:0.1"])
def test_a_few_images_in_an_order_by_class_are_of_all_classes(folder: Path, order: str) -> None:
    case = tiny.case(folder, order=order, images=20)
    labels = np.concatenate([batch.labels for batch in build_stream(case, case.data, load_entry(case.model))])
    assert len(labels) == 20
    assert set(labels.tolist()) == set(range(5))


def test_a_seed_orders_the_types_and_zero_is_the_benchmark() -> None:
    orders = [[data.corruption for data in domains("cifar10-c", seed)] for seed in range(3)]
    assert orders[0] == list(BENCHMARK)
    assert all(sorted(order) == sorted(BENCHMARK) for order in orders)
    assert orders[1] != orders[0] != orders[2] != orders[1]


@pytest.mark.parametrize("name", ["continual", "mixed", "correlated", "recurring", "speed", "single"])
def test_a_stream_is_one_case_a_method_read_type_by_type(name: str) -> None:
    suite = SUITES[name]
    cells = suite.cells((0, 1), 50)
    assert {cell.column for cell in cells} == set(BENCHMARK)
    assert len({cell.case for cell in cells}) == 2 * len(suite.rows)
    assert all(cell.domain in [data.label for data in cell.case.data] for cell in cells)
    assert f"cifar100-c-{name}" in SUITES


def test_a_table_shows_the_numbers_of_each_domain(folder: Path) -> None:
    from tent.bench.suite import Cell, Suite

    data = tuple(data for column in tiny.COLUMNS for data in tiny.case(folder, column).data)
    case = tiny.case(folder, data=data, lr=0.1)
    cells = [Cell("Tent", column, case, each.label) for column, each in zip(tiny.COLUMNS, data, strict=True)]
    suite = Suite("two", "two domains", lambda seeds, limit: cells, ("Tent",), tiny.COLUMNS, case.model)
    result = run_case(case)
    grid = read_grid(suite, [result])
    for column, each in zip(tiny.COLUMNS, data, strict=True):
        assert grid.summary("Tent", column).mean == result.by_domain[each.label]["error"]
    assert Data(data[0].name).label == data[0].label
