"""What a table is about comes from the task of its cases: the metric, its unit, and which way is better."""

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from readings import result
from tinysuite import stored, tiny

from tent.bench.read.grid import Grid
from tent.bench.read.query import open_results, read_grid
from tent.bench.render.figures.plot import list_pictures
from tent.bench.render.spreadsheet import to_csv
from tent.bench.render.table import build_table
from tent.bench.result import Result
from tent.bench.store import Store
from tent.bench.suite import Cell, Suite
from tent.tasks import TASKS, Task


class Counting(Task):
    """A task whose numbers are no shares, and better the higher they are."""

    metrics = ("hits", "misses")
    primary = label = "hits"
    unit = ""
    higher_is_better = True


class Overlap(Counting):
    """One with an abbreviation for a label, and shares for numbers."""

    label, unit = "mIoU", "%"


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "counting", Counting)
    monkeypatch.setitem(TASKS, "overlap", Overlap)


def suite_of(task: str, rows: Sequence[str] = ("first", "second")) -> Suite:
    plain = tiny()

    def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
        own = plain.cells(seeds, limit)
        return [replace(cell, case=replace(cell.case, task=task)) if cell.row in rows else cell for cell in own]

    return replace(plain, cells=cells)


def grid_of(task: str) -> Grid:
    suite = suite_of(task)
    numbers = {"first": 0.5, "second": 0.75}
    return read_grid(suite, [result(c.case, 0.5, metrics={"hits": numbers[c.row]}) for c in suite.cells((0, 1), None)])


@pytest.mark.usefixtures("task")
def test_the_highest_is_best_where_the_task_says_so() -> None:
    made = build_table(grid_of("counting"))
    assert [[field.bold for field in line.fields] for line in made.lines] == [[False] * 3, [True] * 3]
    assert [line.fields[0].text for line in made.lines] == ["0.500", "0.750"]
    assert made.corner == "hits"
    assert made.caption[0].startswith("Hits, higher is better, best in bold. Mean ± standard deviation (n − 1)")


@pytest.mark.usefixtures("task")
def test_percent_is_a_hundredfold_and_a_label_keeps_its_letters() -> None:
    grid = grid_of("overlap")
    made = build_table(grid)
    assert [line.fields[0].text for line in made.lines] == ["50.00", "75.00"]
    assert made.corner == "mIoU (%)"
    assert made.caption[0].startswith("mIoU in percent, higher is better")
    assert [picture.caption.split(":")[0] for picture in list_pictures(grid)] == [
        "mIoU by column",
        "mIoU against compute",
    ]


@pytest.mark.usefixtures("task")
def test_figures_are_of_the_tasks_metric() -> None:
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot

    grid = grid_of("overlap")
    for picture in list_pictures(grid):
        figure = picture.draw(grid, 9.5, "")
        assert figure.axes[0].get_ylabel() == "mIoU (%)"
        matplotlib.pyplot.close(figure)


@pytest.mark.usefixtures("task")
def test_two_tasks_in_one_table_are_refused(tmp_path: Path) -> None:
    suite = suite_of("counting", rows=("second",))
    results = [result(cell.case, 0.5, metrics={"error": 0.5, "hits": 3.0}) for cell in suite.cells((0,), None)]
    with pytest.raises(ValueError, match=r"tiny: its cases are judged by different metrics \(error, hits\)"):
        build_table(read_grid(suite, results))


def change(store: Store, index: int, metrics: dict[str, float]) -> Result:
    """Put a stored result back with other metrics."""
    changed = replace(store.all()[index], metrics=metrics)
    store.put(changed)
    return changed


def test_a_metric_of_tomorrow_is_shown_and_one_that_is_not_there_yet_hides_nothing(tmp_path: Path) -> None:
    store = stored(tmp_path)
    newer = change(store, 0, {**store.all()[0].metrics, "brier": 0.125})
    older = change(store, 1, {"error": 0.25})
    results, warnings = open_results(tmp_path)
    assert (len(results), warnings) == (12, [])
    grid = read_grid(tiny(), results)
    assert all(field.kind == "ours" for line in build_table(grid).lines for field in line.fields)
    lines = {line["key"]: line for line in csv.DictReader(io.StringIO(to_csv(grid)))}
    assert lines[newer.case.key()]["brier"] == "0.125"
    assert {line["brier"] for key, line in lines.items() if key != newer.case.key()} == {""}
    assert (lines[older.case.key()]["error"], lines[older.case.key()]["ece"]) == ("0.25", "")


def test_a_result_without_the_tables_metric_is_named_and_keeps_its_others(tmp_path: Path) -> None:
    suite, store = tiny(), stored(tmp_path)
    case = suite.cells((0,), None)[0].case
    store.put(result(case, 0.5, metrics={"ece": 0.03}))
    grid = read_grid(suite, open_results(tmp_path)[0])
    made = build_table(grid)
    one, _, mean = made.lines[0].fields
    assert (one.text, one.spread) == ("13.00", "1.41")  # 12 and 14
    assert [made.notes[number - 1] for number in one.notes] == ["seed 0 without error"]
    assert [made.notes[number - 1] for number in mean.notes] == ["of seeds 1, 2 alone; the rest lack a column"]
    assert grid.entries["first", "one"].summary("ece").seeds == (0, 1, 2)
