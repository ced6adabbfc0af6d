"""The store: whole files alone, damaged ones set aside in one line, one process a case."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tent.bench.case import Case, Data
from tent.bench.result import Result
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


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: "{}",
        lambda text: text.replace('"tent"', '"bn"'),
        lambda text: text.replace('"case": {', '"case": {"strange": 1,'),
        lambda text: "\x00" * len(text),
    ],
    ids=["cut", "empty", "a list", "nothing in it", "another case", "an unknown field", "zeros"],
)
def test_a_damaged_file_is_said_in_one_line_and_set_aside(store: Store, lines: list[str], damage) -> None:  # type: ignore[no-untyped-def]
    store.put(RESULT)
    path = store.path(CASE)
    path.write_text(damage(path.read_text()))
    assert store.all() == []
    assert len(lines) == 1
    assert f"{path.name} is damaged" in lines[0]
    assert "\n" not in lines[0]
    assert not path.exists()
    assert path.with_name(f"{path.name}.damaged").exists()
    assert store.get(CASE) is None
    assert len(lines) == 1


def test_bytes_that_are_no_text_are_damage_too(store: Store, lines: list[str]) -> None:
    store.put(RESULT)
    store.path(CASE).write_bytes(b"\xff\xfe\x80")
    assert store.get(CASE) is None
    assert len(lines) == 1


def test_a_damaged_file_that_is_being_run_again_is_left_to_that_run(store: Store, lines: list[str]) -> None:
    store.put(RESULT)
    store.path(CASE).write_text("{")
    with store.lock(CASE):
        assert store.get(CASE) is None
    assert store.path(CASE).exists()
    assert not lines


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
    store.put(replace(RESULT, case=CASE.pin("weights", ("data",))))
    assert [result.error for result in store.all()] == [None]


def test_numbers_that_json_does_not_know_are_not_written(store: Store) -> None:
    with pytest.raises(ValueError, match="JSON"):
        store.put(replace(RESULT, metrics={"error": float("nan")}))
    assert store.all() == []
    assert list(store.folder.iterdir()) == []
