"""Compute: images forward and backward, against counts done by hand and what the model was really asked."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from command import tent
from readings import TRAINING, failure, kept, result
from tinysuite import stored
from tinysuite import tiny as small

from tent.bench.case import Case, Data
from tent.bench.execute.inputs import load_entry
from tent.bench.execute.run_case import run_case
from tent.bench.read.compute import Passes, cost, passes
from tent.bench.read.narrow import narrow_grid
from tent.bench.read.query import Query, read_grid
from tent.bench.render.costs import build_cost_table
from tent.bench.render.markdown import to_markdown
from tent.bench.render.report import render_report
from tent.bench.render.spreadsheet import to_csv
from tent.bench.suite import Cell, Suite
from tent.bench.suites import SUITES


def test_passes_are_what_the_engine_counted() -> None:
    case = small().cells((0,), None)[0].case
    counts = {"forwards": 3300, "backwards": 3200, "updates": 100}
    assert passes(result(case, 0.5, counts=counts)) == Passes(3300, 3200)
    assert passes(result(case, 0.5, counts={})) is None
    assert passes(failure(case, "no")) is None


@pytest.mark.parametrize(
    ("changes", "forward", "backward"),
    [
        ({"method": "source"}, 40, 0),
        ({"method": "bn", "when": "offline"}, 80, 0),
        ({}, 40, 40),
        ({"method": "oracle"}, 40, 40),
        ({"steps": 2, "answers": "after"}, 120, 80),
        ({"epochs": 3}, 120, 120),
        ({"epochs": 3, "answers": "after"}, 160, 120),
        ({"when": "offline", "epochs": 2}, 120, 80),
        ({"reset": "batch", "answers": "after"}, 80, 40),
    ],
)
def test_as_many_images_go_forward_as_are_counted(
    tmp_path: Path, changes: dict[str, object], forward: int, backward: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = tiny.case(tiny.laid_out(tmp_path), images=40, **changes)
    seen: list[int] = []
    monkeypatch.setattr("tent.bench.execute.run_case._measure_peak", lambda *_: 0)  # which makes a step of its own
    tiny.check_no_passes(monkeypatch)
    net = type(load_entry(case.model).model)
    plain = net.forward
    monkeypatch.setattr(net, "forward", lambda self, x: (seen.append(len(x)), plain(self, x))[1])
    assert passes(run_case(case)) == Passes(forward, backward)
    assert sum(seen) == forward


def test_what_was_not_counted_is_left_blank(tmp_path: Path) -> None:
    store = stored(tmp_path, keep=lambda cell: cell.row == "first")
    for cell in small().cells((0,), None):
        if cell.row == "second":
            store.put(result(cell.case, 0.5, counts={}))
    grid = read_grid(small(), store.all(), Query(seeds=(0,)))
    first, second = build_cost_table(grid).lines
    assert [field.text for field in first.fields] == ["10,000", "0", "0.5", "20.0"]
    assert [field.text for field in second.fields] == ["", "", "", "20.0"]
    assert {(line["row"], line["forward"]) for line in csv.DictReader(io.StringIO(to_csv(grid)))} == {
        ("first", "1000"),
        ("second", ""),
    }


def several(models: dict[str, str]) -> Suite:
    """A suite of Tent and of a row whose columns have these models."""

    def cells(seeds, limit):  # type: ignore[no-untyped-def]
        own = [Cell("RG", column, Case(model, (Data(f"set {column}"),), "source")) for column, model in models.items()]
        tent_ = [Cell("Tent", column, Case("net", (Data(f"set {column}"),), "tent")) for column in models]
        return [replace(c, case=replace(c.case, seed=seed)) for seed in seeds for c in (*own, *tent_)]

    return Suite("several", "Several", cells, ("RG", "Tent"), tuple(models), "net")


def lines(folder: Path, models: dict[str, str], **trainings: dict[str, object]) -> dict[str, list[str]]:
    suite, store = several(models), kept(folder)
    for cell in suite.cells((0, 1), None):
        changes = {"training": trainings[cell.column]} if cell.row == "RG" else {}
        store.put(result(cell.case, 0.5, 4.0, 2000, **changes))
    made = build_cost_table(read_grid(suite, store.all()))
    return {line.head: dict(zip(made.heads, (field.text for field in line.fields), strict=True)) for line in made.lines}


def spent(*texts: str) -> dict[str, str]:
    heads = ("images forward", "images backward", "passes, × Tent's", "memory of a step, × Tent's", "training (s)")
    return dict(zip((*heads, "answering (s)"), texts, strict=True))


def test_a_training_for_each_column(tmp_path: Path) -> None:
    one = {**TRAINING, "forward": 80_000, "backward": 80_000, "seconds": 60.0}
    found = lines(tmp_path, {"a": "trained:a", "b": "trained:b"}, a=one, b=one)
    assert found == {  # of 2,000 images a column: five times as much for 10,000
        "RG": spent("410,000", "400,000", "40.5", "1.00", "300", "20.0"),
        "Tent": spent("10,000", "10,000", "1.0", "1.00", "", "20.0"),
    }


def test_columns_of_other_budgets_are_lines_of_their_own(tmp_path: Path) -> None:
    one = {**TRAINING, "forward": 80_000, "backward": 80_000, "seconds": 60.0}
    found = lines(tmp_path, {"a": "trained:a", "b": "trained:b"}, a=one, b={**one, "forward": 2000, "backward": 2000})
    assert list(found) == ["RG, a", "RG, b", "Tent"]
    assert found["RG, b"] == spent("20,000", "10,000", "1.5", "1.00", "300", "20.0")


def test_a_training_for_all_columns_is_shared_out(tmp_path: Path) -> None:
    one = {**TRAINING, "forward": 80_000, "backward": 40_000, "seconds": 60.0}
    found = lines(tmp_path, {"a": "trained:a", "b": "trained:a"}, a=one, b=one)
    assert found["RG"] == spent("210,000", "100,000", "15.5", "1.00", "150", "20.0")


def test_a_training_is_shared_out_also_where_a_column_is_not_shown(tmp_path: Path) -> None:
    suite = several({"a": "trained:a", "b": "trained:a"})
    store = kept(tmp_path, *(result(cell.case, 0.5) for cell in suite.cells((0,), None)))
    grid = read_grid(suite, store.all())
    part = narrow_grid(grid, ["RG"], ["b"])
    assert (part.rows, part.columns) == (("RG",), ("b",))
    assert cost(part, "RG", ["b"]) == cost(grid, "RG", ["b"])
    assert len(part.results) == 1


def test_the_training_of_a_source_model_is_not_counted(tmp_path: Path) -> None:
    found = lines(tmp_path, {"a": "trained:a"}, a={**TRAINING, "method": "source"})
    plain = spent("10,000", "0", "0.5", "1.00", "", "20.0")
    assert found["RG"] == {head: text for head, text in plain.items() if head != "training (s)"}  # a blank column


def test_memory_is_a_multiple_of_tents_and_needs_are_named(tmp_path: Path) -> None:
    suite = SUITES["continual"].with_rows(["Tent", "EATA", "RoTTA"])
    store = kept(tmp_path)
    for cell in {cell.row: cell for cell in suite.cells((0,), None)}.values():
        store.put(
            result(cell.case, 0.5, peak_memory={"eata": 3 * 10**6, "rotta": None}.get(cell.case.method, 2 * 10**6))
        )
    made = build_cost_table(read_grid(suite, store.all()))
    found = {
        line.head: dict(zip(made.heads, (field.text for field in line.fields), strict=True)) for line in made.lines
    }
    assert [found[row]["memory of a step, × Tent's"] for row in ("Tent", "EATA", "RoTTA")] == ["1.00", "1.50", ""]
    assert [found[row]["needs"] for row in ("Tent", "EATA", "RoTTA")] == [
        "",
        "source data",
        "augmented views, memory of images",
    ]


def test_what_is_missing_is_missing(tmp_path: Path) -> None:
    grid = read_grid(small(), stored(tmp_path, keep=lambda cell: cell.row == "first").all())
    assert cost(grid, "second", grid.columns) is None
    made = build_cost_table(grid)
    assert [field.kind for field in made.lines[1].fields] == ["missing"] * 7
    assert made.lines[0].fields[0].text == "10,000"


def test_the_command_shows_and_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SUITES, "tiny", small())
    stored(tmp_path / "results")
    ran = tent(tmp_path, "table", "tiny", "--compute", "--out", "made")
    assert ran.returncode == 0, ran.stderr
    assert "A tiny suite: compute" in ran.stdout
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [
        f"tiny-compute.{end}" for end in ("csv", "md", "tex")
    ]
    text = (tmp_path / "made" / "tiny-compute.md").read_text(encoding="utf-8")
    assert "| second | 10,000 | 10,000 | 1.0 | 20.0 |" in text
    assert "Seconds at test time, without reading data: a processor, 2 threads." in text


def test_the_report_has_it_where_a_model_was_trained_for_a_row(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    suite = several({"a": "trained:a"})
    store = kept(tmp_path, *(result(cell.case, 0.5) for cell in suite.cells((0,), None)))
    grid = read_grid(suite, store.all())
    assert "<h3>Compute</h3>" in render_report([grid])
    assert "<h3>Compute</h3>" not in render_report([read_grid(small(), stored(tmp_path / "other").all())])
    assert to_markdown(build_cost_table(grid)).startswith("### Several: compute\n")
