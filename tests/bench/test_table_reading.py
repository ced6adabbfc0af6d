"""Which results of a store a table is made of."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from readings import DATA, WEIGHTS, failure, fill, kept, result
from tinysuite import stored, tiny

from tent.bench.read.narrow import split_names
from tent.bench.read.query import Query, group_by_case, open_results, read_grid, read_grids, stored_limits
from tent.bench.result import Result
from tent.bench.store import Store
from tent.bench.suites import SUITES

OTHER, OWN = "b2" * 32, "gone.py:Sharpen"


def test_names_with_commas_of_their_own_are_found() -> None:
    rows = SUITES["cifar10-c-severities"].rows
    assert split_names("Tent, severity 5,BN, severity 1", rows) == ["Tent, severity 5", "BN, severity 1"]
    assert split_names("Tent*, severity 5,BN*", rows) == ["Tent*, severity 5", "BN*"]
    assert split_names("gaussian noise, FOG,", ("gaussian_noise", "fog")) == ["gaussian noise", "FOG"]


def test_two_sets_of_weights_end_in_one_clear_line_and_a_prefix_picks(tmp_path: Path) -> None:
    suite, store = tiny(), stored(tmp_path)
    for cell in suite.cells((0, 1, 2), None):
        if cell.row == "first":
            store.put(result(cell.case.pin(OTHER, lambda _: DATA), 0.5))
    with pytest.raises(ValueError, match="tiny: the store has results of net-0 with 2 different weights") as told:
        read_grid(suite, store.all())
    assert "a1a1a1a1a1a1, b2b2b2b2b2b2" in str(told.value)
    assert "--weights a1a1a1a1a1a1" in str(told.value)
    assert "\n" not in str(told.value)
    figures = {start: read_grid(suite, store.all(), Query(hashes=(start,))).summary("first") for start in ("a1a", "b2")}
    assert [figures[start].mean for start in figures] == [pytest.approx(0.16), pytest.approx(0.5)]
    with pytest.raises(ValueError, match="no results of weights ff; the store has a1a1a1a1a1a1, b2b2b2b2b2b2"):
        read_grid(suite, store.all(), Query(hashes=("ff",)))


def test_weights_are_not_mixed_even_if_no_cell_has_two(tmp_path: Path) -> None:
    suite = tiny()
    cells = suite.cells((0,), None)
    store = kept(
        tmp_path, *(result(c.case.pin(OTHER if c.column == "two" else WEIGHTS, lambda _: DATA), 0.5) for c in cells)
    )
    with pytest.raises(ValueError, match="2 different weights"):
        read_grid(suite, store.all())


def test_two_versions_of_the_data_are_told_apart_too(tmp_path: Path) -> None:
    suite, store = tiny(), stored(tmp_path)
    store.put(result(suite.cells((0,), None)[0].case.pin(WEIGHTS, lambda _: OTHER), 0.5))
    with pytest.raises(ValueError, match="results of set-0 with 2 different data"):
        read_grid(suite, store.all())
    assert read_grid(suite, store.all(), Query(hashes=(DATA[:6],))).summary("first").mean == pytest.approx(0.16)


def test_a_failure_tied_to_no_weights_is_not_another_set_of_weights(tmp_path: Path) -> None:
    suite, store = tiny(), stored(tmp_path, keep=lambda cell: cell.row == "first")
    store.put(failure(next(cell for cell in suite.cells((0,), None) if cell.row == "second").case, "no"))
    assert read_grid(suite, store.all()).entries["second", "one"].failures == {0: "no"}


def test_a_case_that_was_done_counts_before_one_that_failed(tmp_path: Path) -> None:
    suite = tiny()
    done = result(suite.cells((0,), None)[0].case, 0.25)
    failed = replace(failure(done.case.unpin(), "no"), finished="2027-01-01T00:00:00+00:00")
    grid = read_grid(suite, [failed, done])
    assert grid.entries["first", "one"].successes[0].metrics["error"] == 0.25


def test_a_choice_that_was_made_is_found_by_the_case_that_left_it_open(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["cifar10-c"]
    fill(store, suite, (0,), lambda row, column, case: (0.5, 1.0))
    entry = read_grid(suite, store.all()).entries["PL", "fog"]
    assert entry.successes[0].case.options == {"threshold": 0.9}
    assert entry.case.choose == {"threshold": "cifar10-c-choice"}


def test_what_is_not_there_is_said_with_what_is(tmp_path: Path) -> None:
    suite, store = tiny(), Store(tmp_path)
    with pytest.raises(ValueError, match="no results of tiny in the store; run: tent bench tiny"):
        read_grid(suite, [])
    for cell in suite.cells((3,), 50):
        store.put(result(cell.case, 0.5))
    with pytest.raises(
        ValueError, match="no results of tiny without --limit in the store; it has some with --limit 50"
    ):
        read_grid(suite, store.all())
    with pytest.raises(ValueError, match="no results of tiny with seeds 0, 1 in the store; it has seeds 3"):
        read_grid(suite, store.all(), Query(seeds=(0, 1), limit=50))
    grid = read_grid(suite, store.all(), Query(limit=50))
    assert (grid.seeds, grid.limit, grid.file_name) == ((3,), 50, "tiny-limit-50")
    assert grid.heading == "A tiny suite, the first 50 images of each stream"


def test_seeds_are_those_that_have_results(tmp_path: Path) -> None:
    assert read_grid(tiny(), stored(tmp_path).all()).seeds == (0, 1, 2)
    asked = read_grid(tiny(), stored(tmp_path).all(), Query(seeds=(1, 7)))
    assert asked.entries["first", "one"].missing_seeds == (7,)


def test_the_ablations_own_size_is_not_a_limit(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["ablation"]
    fill(store, suite, (0,), lambda row, column, case: (0.5, 1.0))
    assert stored_limits(suite, group_by_case(store.all())) == [None]
    assert read_grid(suite, store.all(), Query(limit=4000)).heading == suite.title  # it asks for fewer images than that


def test_a_table_of_nothing_but_what_another_shows_is_left_out(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for name in ("cifar10-c", "ablation"):
        fill(store, SUITES[name], (0,), lambda row, column, case: (0.5, 1.0))
    # severity 5 alone is cifar10-c, and the ablation's Tent on fewer images is no cifar10-c under a limit
    assert [grid.file_name for grid in read_grids(SUITES.values(), store.all())] == ["cifar10-c", "ablation"]
    severe = SUITES["cifar10-c-severities"].cells((0,), None)[0]
    store.put(result(severe.case, 0.5))
    assert "cifar10-c-severities" in [grid.file_name for grid in read_grids(SUITES.values(), store.all())]


def test_other_models_and_limits_are_tables_of_their_own(tmp_path: Path) -> None:
    suite, store = tiny(), stored(tmp_path)
    for cell in suite.with_model("net:9").cells((0,), 20):
        store.put(result(cell.case, 0.5))
    for cell in suite.cells((0,), 20):
        store.put(result(cell.case, 0.5))
    assert [grid.file_name for grid in read_grids([suite], store.all())] == [
        "tiny",
        "tiny-limit-20",
        "tiny-net-9-limit-20",
    ]


def test_a_hash_that_one_suite_needs_does_not_stop_another(tmp_path: Path) -> None:
    first, second = tiny(), replace(tiny(), name="more").with_model("net-7")
    store = stored(tmp_path)
    for cell in first.cells((0,), None):
        store.put(result(cell.case.pin(OTHER, lambda _: DATA), 0.5))
    for cell in second.cells((0,), None):
        if cell.case.model == "net-7":
            store.put(result(cell.case.pin("c3" * 32, lambda _: DATA), 0.5))
    with pytest.raises(ValueError, match="2 different weights"):
        read_grids([first, second], store.all())
    found = read_grids([first, second], store.all(), ("a1",))
    assert [grid.name for grid in found] == ["tiny", "more"]


def test_a_damaged_file_is_reported_and_an_empty_store_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no results in .*; run a suite first, such as: tent bench cifar10-c"):
        open_results(tmp_path / "nowhere")
    store = stored(tmp_path)
    (tmp_path / f"{'0' * 24}.json").write_text("{")
    results, damaged = open_results(tmp_path)
    assert len(results) == 12
    assert len(damaged) == 1
    assert "is damaged" in damaged[0]
    assert open_results(tmp_path)[1] == damaged  # who reads renames nothing
    assert len(store.all()) == 12


@pytest.mark.parametrize(
    ("what", "value"), [("metrics", {}), ("metrics", {"error": None}), ("seconds", float("nan")), ("images", 0)]
)
def test_a_result_without_its_numbers_is_skipped(tmp_path: Path, what: str, value: object) -> None:
    store = stored(tmp_path)
    hurt = store.path(store.all()[0].case)
    hurt.write_text(json.dumps({**json.loads(hurt.read_text()), what: value}))
    results, damaged = open_results(tmp_path)
    assert (len(results), damaged) == (11, [f"{hurt.name} lacks some of its numbers; skipped"])


def own_results(code: str) -> list[Result]:
    """Return results of a method in a file that is not there any more, beside those of digits."""
    cells = SUITES["digits"].with_method(OWN).cells((0,), None)
    results = [result(cell.case, 0.5) for cell in cells]
    return [
        replace(each, case=replace(each.case, code={"method": code})) if each.case.method == OWN else each
        for each in results
    ]


def test_ones_own_method_has_its_rows_and_its_file_is_not_needed() -> None:
    grid = read_grid(SUITES["digits"], own_results("c1" * 32), Query(method=OWN))
    assert grid.rows[5:7] == ("Tent", "Sharpen")
    assert grid.entries["Sharpen", "MNIST"].summary().mean == 0.5
    assert (grid.file_name, grid.heading.endswith(f", with {OWN}")) == ("digits-gone-py-Sharpen", True)
    assert "Sharpen" not in read_grid(SUITES["digits"], own_results("c1" * 32)).rows
    found = read_grids(SUITES.values(), own_results("c1" * 32))
    assert [grid.file_name for grid in found] == ["digits", "digits-gone-py-Sharpen"]


def test_two_versions_of_ones_own_code_are_told_apart() -> None:
    results = [*own_results("c1" * 32), *(each for each in own_results("c2" * 32) if each.case.method == OWN)]
    with pytest.raises(ValueError, match=r"digits: the store has results of gone\.py with 2 different code"):
        read_grid(SUITES["digits"], results, Query(method=OWN))
    assert read_grid(SUITES["digits"], results, Query(method=OWN, hashes=("c2",))).rows[6] == "Sharpen"


def test_results_of_another_batch_and_of_a_method_with_another_model_are_found(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["cifar10-c"]
    fill(store, suite.with_model("robustbench:Standard").with_batch(200), (0,), lambda row, column, case: (0.2, 1.0))
    fill(store, suite.with_model("other").with_method("sar"), (0,), lambda row, column, case: (0.3, 1.0))
    grids = read_grids([suite], store.all())
    assert ("robustbench:Standard", "", 200) in {(grid.model, grid.method, grid.batch) for grid in grids}
    assert "SAR" in {row for grid in grids if grid.model == "other" for row in grid.rows}
