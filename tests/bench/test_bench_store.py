"""The store: whole files alone, damaged ones set aside in one line, one process a case."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from readings import result

from tent.bench.case import Case, Data
from tent.bench.read.query import open_results
from tent.bench.read.training import budget
from tent.bench.result import Result
from tent.bench.schedule.board import Pace
from tent.bench.store import Store

CASE = Case("m", Data("mnist"), "tent", lr=1e-3, options={"on": ["a", "b"]})
RESULT = Result(
    CASE, {"error": 0.25}, {"error": [0.5, 0.0]}, 2.0, 4.0, 100, 8, {"order": "as [stored]"}, finished="now"
)


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, lines: list[str]) -> Store:
    return Store(tmp_path / "results", lines.append)


def test_a_result_comes_back_as_it_was_kept(store: Store) -> None:
    assert store.get(CASE) is None
    assert store.all() == []
    store.put(RESULT)
    assert store.get(CASE) == RESULT
    assert store.all() == [RESULT]
    assert [path.name for path in store.folder.iterdir()] == [f"{CASE.key()[:24]}.json"]


def test_a_file_is_plain_json_with_a_list_a_line(store: Store) -> None:
    store.put(RESULT)
    text = store.path(CASE).read_text(encoding="utf-8")
    assert json.loads(text) == json.loads(json.dumps(RESULT.to_json()))
    assert '  "error": [0.5, 0.0]\n' in text


def test_other_files_in_the_folder_are_left_alone(store: Store, lines: list[str]) -> None:
    store.put(RESULT)
    for name in ("notes.json", "README.md", f".{CASE.key()[:24]}.json.abc.making"):
        (store.folder / name).write_text("{")
    assert store.all() == [RESULT]
    assert not lines


DAMAGES = {
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "a list": lambda text: "[]",
    "nothing in it": lambda text: "{}",
    "another case": lambda text: text.replace('"tent"', '"bn"'),
    "zeros": lambda text: "\x00" * len(text),
}
OTHERS = {
    "an unknown field": lambda text: text.replace('"case": {', '"case": {"strange": 1,'),
    "an unknown field of data": lambda text: text.replace('"name": "mnist"', '"name": "mnist", "strange": 1'),
    "an unknown method": lambda text: text.replace('"tent"', '"strange"'),
}


def hurt(store: Store, damage: Callable[[str], str]) -> tuple[Path, str]:
    """Damage the file of a result, and return it with what it holds now."""
    store.put(RESULT)
    path = store.path(CASE)
    path.write_text(damage(path.read_text()))
    return path, path.read_text()


@pytest.mark.parametrize("damage", [*DAMAGES, *OTHERS])
def test_a_damaged_file_of_a_case_about_to_run_is_said_in_one_line_and_set_aside(
    store: Store, lines: list[str], damage: str
) -> None:
    path, text = hurt(store, {**DAMAGES, **OTHERS}[damage])
    store.set_aside(CASE)
    assert len(lines) == 1
    assert f"{path.name} is damaged" in lines[0]
    assert "\n" not in lines[0]
    assert not path.exists()
    assert path.with_name(f"{path.name}.damaged").read_text() == text
    assert store.get(CASE) is None
    store.set_aside(CASE)
    assert len(lines) == 1


def test_a_whole_file_is_not_set_aside(store: Store, lines: list[str]) -> None:
    store.put(RESULT)
    store.set_aside(CASE)
    assert (store.get(CASE), lines) == (RESULT, [])


@pytest.mark.parametrize("damage", [*DAMAGES, *OTHERS])
def test_who_reads_says_what_is_no_result_and_leaves_it_where_it_is(
    store: Store, lines: list[str], damage: str
) -> None:
    path, text = hurt(store, {**DAMAGES, **OTHERS}[damage])
    assert store.all() == []
    assert store.get(CASE) is None
    with pytest.raises(ValueError, match="no results in"):
        open_results(store.folder)
    assert [each.name for each in store.folder.iterdir()] == [path.name]  # no lock is taken either
    assert path.read_text() == text
    said = f"{path.name}: made by another version; skipped (" if damage in OTHERS else f"{path.name} is damaged ("
    assert [line.startswith(said) for line in lines] == [True, True]
    assert damage in OTHERS or lines[0].endswith("; skipped")


WRONG = [None, True, -1, 1.5, "x", [], ["x"], {}, {"x": "y"}, {"x": [1]}, [[[]]], "9" * 50, 10**400]


def places(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Every place in a plain form, as the names and numbers that lead to it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(*path, name) for name, _ in inside] + [p for name, each in inside for p in places(each, (*path, name))]


def test_any_value_of_a_wrong_type_is_damage_or_a_result_and_never_a_traceback(store: Store, lines: list[str]) -> None:
    whole = result(replace(CASE, fit=Data("mnist", part=(0, 5)), when="offline", model="trained:x"), 0.25)
    whole = replace(whole, counts={"forwards": 8}, by_domain={"mnist": {"error": 0.25}})
    whole = whole.with_choices({"on": {"suite": "a-choice", "errors": {"0": 0.5}}})
    store.put(whole)
    text = store.path(whole.case).read_text(encoding="utf-8")
    tried = 0
    for path in places(json.loads(text)):
        for wrong in WRONG:
            form = json.loads(text)
            inside = form
            for name in path[:-1]:
                inside = inside[name]
            inside[path[-1]] = wrong
            tried += 1
            lines.clear()
            store.path(whole.case).write_text(json.dumps(form), encoding="utf-8")
            for each in store.all():
                assert isinstance(each.complete, bool)
                assert each.suite_cases
                Pace([each]).seconds(each.case, 10)
                cost_words(each)
    assert tried > 500


def cost_words(each: Result) -> None:
    json.dumps(each.to_json())
    budget(each.training)


def test_more_epochs_than_were_measured_are_forecast_from_fewer() -> None:
    offline = replace(CASE, when="offline")
    pace = Pace([replace(RESULT, case=offline, seconds=3.0)])
    assert pace.seconds(offline, RESULT.images) == pytest.approx(3.0)  # one pass that learns, half a one that answers
    assert pace.seconds(replace(offline, epochs=10), RESULT.images) == pytest.approx(21.0)
    assert pace.seconds(replace(CASE, method="bn"), RESULT.images) is None


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"case":' + "[" * 900 + "]" * 900 + "}"])
def test_deep_nesting_is_damage(store: Store, lines: list[str], text: str) -> None:
    store.put(RESULT)
    store.path(CASE).write_text(text)
    assert store.get(CASE) is None
    assert len(lines) == 1
    assert "is damaged" in lines[0]


def test_deep_nesting_inside_a_result_is_damage_too(store: Store, lines: list[str]) -> None:
    store.put(RESULT)
    text = store.path(CASE).read_text()
    deep = "[" * 600 + "]" * 600
    for name in ('"on": [', '"order": '):
        start = text.index(name)
        end = text.index("\n", start)
        store.path(CASE).write_text(f"{text[:start]}{name.split(':')[0]}: {deep}{text[end:]}")
        assert store.get(CASE) is None
    assert len(lines) == 2


def test_a_result_outlives_the_metrics_of_its_time(store: Store) -> None:
    fewer = replace(result(CASE, 0.25), metrics={"error": 0.25})
    more = replace(result(replace(CASE, seed=1), 0.25), metrics={"error": 0.25, "brier": 0.1})
    for each in (fewer, more):
        store.put(each)
    results, damaged = open_results(store.folder)
    assert (len(results), damaged) == (2, [])
    nan = float("nan")
    assert replace(more, metrics={"error": 0.25, "brier": nan}).complete
    for metrics in ({"error": nan, "brier": 0.1}, {"brier": 0.1}, {"error": 0.25, "brier": "x"}):
        assert not replace(more, metrics=metrics).complete


def test_bytes_that_are_no_text_are_damage_too(store: Store, lines: list[str]) -> None:
    store.put(RESULT)
    store.path(CASE).write_bytes(b"\xff\xfe\x80")
    assert store.get(CASE) is None
    assert len(lines) == 1


def test_two_cannot_run_a_case_at_once_but_other_cases(store: Store) -> None:
    with store.lock(CASE):
        with pytest.raises(BlockingIOError, match="another process is running this case"), store.lock(CASE):
            pass
        with store.lock(replace(CASE, seed=1)):
            pass
    with store.lock(CASE):
        pass


def test_a_success_takes_the_place_of_a_failure_from_before_the_hashes_were_known(store: Store) -> None:
    store.put(replace(RESULT, metrics={}, error="no model 'm'"))
    store.put(replace(RESULT, case=CASE.pin("weights", lambda _: "data")))
    assert [result.error for result in store.all()] == [None]


def test_a_metric_that_is_nan_is_left_out_of_the_file(store: Store) -> None:
    nan, made = float("nan"), result(replace(CASE, task="segmentation"), 0.25)
    metrics = {"mean_iou": 0.5, "iou_0": 0.5, "iou_1": nan}
    by_batch, by_domain = {"mean_iou": [0.5, nan]}, {"a": metrics, "b": {"mean_iou": nan}}
    store.put(replace(made, metrics=metrics, by_batch=by_batch, by_domain=by_domain))
    read = store.get(made.case)
    assert read is not None
    assert read.complete
    assert read.metrics == {"mean_iou": 0.5, "iou_0": 0.5}
    assert read.by_batch == {"mean_iou": [0.5, None]}
    assert read.by_domain == {"a": read.metrics, "b": {}}
    assert read == Result.from_json(read.to_json())


def test_numbers_that_json_does_not_know_are_not_written(store: Store) -> None:
    with pytest.raises(ValueError, match="JSON"):
        store.put(replace(RESULT, metrics={"error": float("nan")}))
    assert store.all() == []
    assert list(store.folder.iterdir()) == []
