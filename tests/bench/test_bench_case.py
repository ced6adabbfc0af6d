"""A case is named by what decides its numbers, in the same way everywhere and for good."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace

import pytest

from tent.bench.case import Case, Data
from tent.bench.suite import Cell
from tent.bench.suites import SUITES, named

CASE = Case(
    "r26-cifar10",
    Data("cifar10-c", corruption="fog", severity=5),
    "pl",
    options={"threshold": 0.9},
    lr=1e-3,
    fit=Data("cifar10-c", corruption="snow", severity=5, part=(0, 10)),
    when="offline",
    note={"chosen": {"threshold": {"from": [0, 0.9], "rule": "lowest error", "errors": {"0": 0.5, "0.9": 0.25}}}},
)
# of every suite: the names and places of its cells for seeds 0, 1 and 2, as results on record carry them
FROZEN = {
    "cifar10-c": "618e17e7f7ca6276",
    "cifar10-c-choice": "c343105f9109b88c",
    "cifar10-c-severities": "04993a3fd0d981ba",
    "cifar100-c": "6b2a660bcd8a41f7",
    "cifar100-c-choice": "ecd04711a9dcebe7",
    "digits": "29cc3eb580cec48e",
    "ablation": "b3ef47127460df9e",
    "generalise": "8b87688ec3a14875",
    "imagenet-c": "231ea31fef2cb683",
    "visda-c": "1141f9aa4d17d5dd",
}
BOUNDS = ("Oracle", "Oracle offline")
ADDED = [  # rows that came later
    ("cifar10-c", ("RG", "UDA-SS", "TTT", *BOUNDS), "2a6d90e8f99fab19"),
    ("digits", ("RG", "UDA-SS", *BOUNDS), "d7c6c36b3f03f7c0"),
    ("digits", ("TTT",), "b25f9e2159a33f8b"),
]
ELSEWHERE = """
import json, sys
from tent.bench.case import Case
print(Case.from_json(json.load(sys.stdin)).key())
"""


def test_a_case_survives_json_and_pickle() -> None:
    assert Case.from_json(json.loads(json.dumps(CASE.to_json()))) == CASE
    assert pickle.loads(pickle.dumps(CASE)) == CASE
    assert len({CASE, pickle.loads(pickle.dumps(CASE))}) == 1


def test_what_is_at_its_default_is_not_written() -> None:
    case = Case("m", Data("mnist"), "bn")
    assert case.to_json() == {"model": "m", "data": {"name": "mnist"}, "method": "bn"}


def test_the_key_by_hand() -> None:
    text = '{"data":{"name":"mnist"},"lr":0.001,"method":"tent","model":"m"}'
    assert Case("m", Data("mnist"), "tent", lr=1e-3).key() == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", FROZEN)
def test_keys_on_record_never_change(name: str) -> None:
    later = {row for suite, rows, _ in ADDED if suite == name for row in rows}
    assert digest(cell for cell in named(name).cells((0, 1, 2), None) if cell.row not in later) == FROZEN[name]


@pytest.mark.parametrize(("name", "rows", "frozen"), ADDED)
def test_nor_do_the_keys_of_rows_that_came_later(name: str, rows: tuple[str, ...], frozen: str) -> None:
    cells = [cell for cell in named(name).cells((0, 1, 2), None) if cell.row in rows]
    assert {cell.row for cell in cells} == set(rows)
    assert digest(cells) == frozen


def digest(cells: Iterable[Cell]) -> str:
    return hashlib.sha256("".join(c.row + c.column + c.case.key() for c in cells).encode()).hexdigest()[:16]


def test_every_suite_is_frozen() -> None:
    assert set(FROZEN) == set(SUITES)


def test_the_key_is_the_same_in_other_processes_and_orders() -> None:
    def turned(value: object) -> object:
        return {k: turned(v) for k, v in reversed(value.items())} if isinstance(value, dict) else value

    for seed, form in (("1", CASE.to_json()), ("2", turned(CASE.to_json()))):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        ran = subprocess.run(
            [sys.executable, "-c", ELSEWHERE], input=json.dumps(form), capture_output=True, text=True, env=environment
        )
        assert ran.stdout.strip() == CASE.key(), ran.stderr


def test_equal_numbers_have_one_name_and_other_ones_another() -> None:
    assert replace(CASE, lr=1).key() == replace(CASE, lr=1.0).key()
    assert replace(CASE, options={"threshold": 0.0}).key() == replace(CASE, options={"threshold": 0}).key()
    others = [
        replace(CASE, lr=2e-3),
        replace(CASE, seed=1),
        replace(CASE, images=256),
        replace(CASE, options={"threshold": 0.5}),
        replace(CASE, note={}),
        replace(CASE, weights="ab"),
        replace(CASE, data=replace(CASE.data, severity=4)),
        replace(CASE, data=replace(CASE.data, sha256="ab")),
        replace(CASE, fit=replace(CASE.data, part=(0, 11))),
    ]
    assert len({case.key() for case in [CASE, *others]}) == len(others) + 1


def test_a_limit_makes_other_keys() -> None:
    for suite in SUITES.values():
        all_, few = ({cell.case.key() for cell in suite.cells((0,), limit)} for limit in (None, 256))
        assert not all_ & few, suite.name


def test_pins_and_choices_come_off_again() -> None:
    pinned = CASE.pinned("weights", "data", "fit")
    assert (pinned.weights, pinned.data.sha256, pinned.fit and pinned.fit.sha256) == ("weights", "data", "fit")
    bare = pinned.unpinned()
    assert bare == CASE.unpinned()
    assert not bare.options
    assert bare.undecided == ("threshold",)
    assert "errors" not in bare.note["chosen"]["threshold"]
    assert bare.note["chosen"]["threshold"]["rule"] == "lowest error"
    assert not pinned.undecided


def test_what_is_in_a_case_cannot_change() -> None:
    with pytest.raises(TypeError):
        CASE.options["threshold"] = 0.5  # type: ignore[index]
    given = {"threshold": 0.5}
    case = Case("m", Data("mnist"), "pl", options=given)
    given["threshold"] = 0.7
    assert case.options == {"threshold": 0.5}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "magic"}, "no method 'magic'; there are source, bn"),
        ({"when": "later"}, "when 'later': choose from online, offline, episodic"),
        ({"epochs": 0}, "epochs 0: give 1 or more"),
        ({"images": 0}, "images 0: give 1 or more"),
        ({"when": "episodic", "epochs": 2}, "epochs 2: an episodic case"),
        ({"fit": Data("mnist")}, "is offline, not online"),
        ({"options": {"x": object()}}, "is not JSON"),
    ],
)
def test_a_case_that_makes_no_sense_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Case(**{"model": "m", "data": Data("mnist"), "method": "bn", **wrong})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="part"):
        Data("mnist", part=(5, 5))
