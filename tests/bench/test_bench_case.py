"""A case is named by what decides its numbers, in the same way everywhere and for good."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import pytest

from tent.bench.case import Case, Data
from tent.bench.store import Store
from tent.bench.suite import Cell
from tent.bench.suites import SUITES, by_name
from tent.data.corruptions import BENCHMARK, CORRUPTIONS, HELD_OUT, apply

CASE = Case(
    "r26-cifar10",
    Data("cifar10-c", corruption="fog", severity=5),
    "pl",
    options={"threshold": 0.9},
    lr=1e-3,
    fit=Data("cifar10-c", corruption="snow", severity=5, part=(0, 10)),
    when="offline",
)
# of every suite: the names and places of its cells for seeds 0, 1 and 2, as results on record carry them
FROZEN = {
    "cifar10-c": "db83a2527a4bf9fb",
    "cifar10-c-on-test": "6c8c18d3266975cb",
    "cifar10-c-choice": "c572e9f392508d96",
    "cifar10-c-severities": "f42369c1cb6d17ae",
    "cifar10-c-by-type": "e00689389ff5f0dc",
    "cifar100-c": "b0cf0951b7e9e023",
    "cifar100-c-choice": "7f26b3fd37181857",
    "cifar100-c-by-type": "89cfa1acf55e6e52",
    "models": "ef5f648c39dbd203",
    "architectures": "e0fcd0c10833af3d",
    "digits": "aebb94e1f1adf8b4",
    "ablation": "1896f455bb6f4b7a",
    "claims": "6f478dbfcbd2b3ab",
    "generalise": "89917ea65ff5b014",
    "imagenet-c": "163d427c9a73b7b7",
    "imagenet-c-by-type": "aef7100acd9645a7",
    "imagenet-c-choice": "bb228647e9cd799c",
    "imagenet-c-rates": "0a7843101c960e77",
    "imagenet-val5k-c": "e7ec8af111f75728",
    "imagenet-val5k-c-by-type": "91bf767d6ca9a717",
    "imagenet-val5k-c-choice": "65944d3ee22fc596",
    "imagenet-val5k-c-rates": "2f08a3d88bfced5b",
    "imagenet-val5k-c-tuned": "4e7460a63cb7d94b",
    "visda-c": "e72a3ea2ec912c19",
    "pacs": "bef08f0d07b7c537",
    "natural": "464d44c32559d429",
    "segmentation": "c15f605d5986ae51",
    "continual": "857819386012ef4b",
    "mixed": "cc3ab2c7bc73fb86",
    "correlated": "21ead903d56d1ca2",
    "recurring": "f9219dac26659fe6",
    "speed": "21d03974354e841b",
    "single": "5b9abc3dad4d9fac",
    "cifar100-c-continual": "bf404b660229cf78",
    "cifar100-c-mixed": "042051f5e0fed601",
    "cifar100-c-correlated": "d044317ba6770b6c",
    "cifar100-c-recurring": "5b474c19d66b51e9",
    "cifar100-c-speed": "527572258eaffc50",
    "cifar100-c-single": "f369b6e7883e6c02",
}
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
    assert case.to_json() == {"model": "m", "data": [{"name": "mnist"}], "method": "bn"}


def test_the_key_by_hand() -> None:
    text = '{"data":[{"name":"mnist"}],"lr":0.001,"method":"tent","model":"m"}'
    assert Case("m", Data("mnist"), "tent", lr=1e-3).key() == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", FROZEN)
def test_keys_on_record_never_change(name: str) -> None:
    assert digest(by_name(name).cells((0, 1, 2), None)) == FROZEN[name]


def test_rows_that_were_added_left_the_keys_of_the_others_alone() -> None:
    digits = [cell for cell in by_name("digits").cells((0, 1, 2), None) if cell.row != "Tent offline 100 epochs"]
    assert digest(digits) == "c9b5f0d726228a26"
    scenes = [cell for cell in by_name("segmentation").cells((0, 1, 2), 64) if cell.row != "BN, single images"]
    assert digest(scenes) == "974e7f5f9551deb3"
    for name, before in (("imagenet-c", "acfb1e98fc908d37"), ("imagenet-c-by-type", "7b6b3fcf2a296306")):
        photographs = by_name(name).with_model("timm:resnet50").cells((0, 1, 2), None)  # which they had at that time
        assert digest([cell for cell in photographs if cell.row != "PL"]) == before
    single = [cell for cell in by_name("single").cells((0, 1, 2), None) if "group norm" not in cell.row]
    assert digest(single) == "c8f75dd3a3ee4842"
    table: list[Cell] = []
    rows = ("Source", "RG", "UDA-SS", "TTT", "BN", "PL", "Tent", "Tent offline", "Oracle", "Oracle offline")
    for seed in (0, 1, 2):
        own = [cell for cell in by_name("cifar10-c").cells((seed,), None) if cell.row not in ("RG", "UDA-SS")]
        on_test = by_name("cifar10-c-on-test").cells((seed,), None)
        on_test = [replace(cell, row=cell.row.split(",")[0]) for cell in on_test]
        own += [cell for cell in on_test if cell.row != "Source"]  # which the table had before it had corrupted train
        table += sorted((cell for cell in own if cell.row in rows), key=lambda cell: rows.index(cell.row))
    assert digest(table) == "a244bc47a8449714"


def digest(cells: Iterable[Cell]) -> str:
    return hashlib.sha256("".join(c.row + c.column + c.case.key() for c in cells).encode()).hexdigest()[:16]


def test_every_suite_is_frozen() -> None:
    assert set(FROZEN) == set(SUITES)


# images of each type, of streams that are too long here
CUT = {
    **{"continual": (500, 2000), "mixed": (500,), "correlated": (500, 2000), "speed": (500,), "single": (100,)},
    **{"cifar100-c-continual": (500,), "segmentation": (64,)},
}


def test_suites_find_every_result_on_record() -> None:
    results = Store(Path(__file__).parents[2] / "results").all()
    cells = {cell.case for suite in SUITES.values() for cell in suite.cells((0, 1, 2), None)}
    cells |= {cell.case for name, cuts in CUT.items() for cut in cuts for cell in SUITES[name].cells((0, 1, 2), cut)}
    cells |= {cell.case for cell in SUITES["recurring"].with_batch(64).cells((0,), 64)}
    cells |= {cell.case for cell in SUITES["correlated"].with_model("r26-gn-cifar10").cells((0,), 500)}
    cells |= {cell.case for cell in SUITES["continual"].with_model("densenet-cifar10").cells((0,), 100)}
    assert len(results) >= 517
    assert [result.case for result in results if not cells & set(result.suite_cases)] == []
    assert all(result.complete and result.counts["forwards"] >= result.images for result in results)


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
        replace(CASE, data=(*CASE.data, Data("mnist"))),
        replace(CASE, fit=None, order="stored"),
        replace(CASE, fit=None, order="sorted"),
        replace(CASE, domains="mixed"),
        replace(CASE, when="online", fit=None, reset="domain"),
        replace(CASE, answers="before"),
        replace(CASE, choose={"momentum": "a-choice"}),
        replace(CASE, code={"method": "ab"}),
        replace(CASE, weights="ab"),
        replace(CASE, data=replace(CASE.data[0], severity=4)),
        replace(CASE, data=replace(CASE.data[0], sha256="ab")),
        replace(CASE, fit=replace(CASE.data[0], part=(0, 11))),
        replace(CASE, prepare=Data("mnist")),
        replace(CASE, when="online", fit=None, pace=1.0),
    ]
    assert len({case.key() for case in [CASE, *others]}) == len(others) + 1


def test_a_limit_makes_other_keys() -> None:
    for suite in SUITES.values():
        all_, few = ({cell.case.key() for cell in suite.cells((0,), limit)} for limit in (None, 256))
        assert not all_ & few, suite.name


def test_pins_and_choices_come_off_again() -> None:
    pinned = CASE.pin("weights", lambda data: "fit" if data is CASE.fit else "data", {"model": "file"})
    assert (pinned.weights, pinned.data[0].sha256, pinned.fit and pinned.fit.sha256) == ("weights", "data", "fit")
    assert pinned.unpin() == CASE
    left = CASE.undecide({"threshold": "a-choice"})
    assert (dict(left.options), dict(left.choose)) == ({}, {"threshold": "a-choice"})
    assert left.decide("threshold", 0.9) == CASE


def test_how_an_option_was_chosen_is_no_part_of_the_key() -> None:
    suite = by_name("cifar10-c")
    left = next(cell.case for cell in suite.cells((0,), None) if cell.row == "PL")
    plain = replace(left, choose={}, options={"threshold": 0.99})
    assert left.decide("threshold", 0.99).key() == plain.key()
    assert "held out" not in json.dumps(plain.to_json())


def test_a_field_that_is_added_later_changes_no_key() -> None:
    @dataclass(frozen=True)
    class Later(Case):
        temperature: float = 1.0

    given = {each.name: getattr(CASE, each.name) for each in fields(CASE)}
    assert Later(**given).key() == CASE.key()
    assert Later(**given, temperature=2.0).key() != CASE.key()


def test_a_corruption_that_is_added_changes_no_key() -> None:
    source = Path(apply.__file__).read_text(encoding="utf-8")
    last = list(CORRUPTIONS)[-1]
    more = source.replace(f'    "{last}": {last},\n', f'    "{last}": {last},\n    "cubism": {last},\n')
    assert more != source
    changed: dict[str, object] = {"__name__": "changed"}
    exec(compile(more, "apply.py", "exec"), changed)
    assert "cubism" in changed["CORRUPTIONS"]  # type: ignore[operator]
    assert (changed["BENCHMARK"], changed["HELD_OUT"]) == (BENCHMARK, HELD_OUT)


def test_a_users_own_file_is_named_by_what_it_holds() -> None:
    case = Case("nets.py:net", Data("mnist"), "a b/my.py:Sharpen")
    assert case.files == {"model": "nets.py", "method": "a b/my.py"}
    assert CASE.files == {}


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
        ({"method": "magic"}, "no method 'magic'; there are bn, "),
        ({"when": "later"}, "when 'later': choose from online, offline"),
        ({"epochs": 0}, "epochs 0: give 1 or more"),
        ({"images": 0}, "images 0: give 1 or more"),
        ({"reset": "batch", "epochs": 2}, "epochs 2: a case that is reset before every batch"),
        ({"reset": "domain", "when": "offline"}, "reset 'domain': an offline case"),
        ({"reset": "often"}, "reset 'often': choose from never, domain, batch"),
        ({"order": "random"}, "no order 'random'; there are shuffled, stored"),
        ({"order": "stored", "data": Data("mnist", part=(0, 9))}, "in its shuffled order"),
        ({"task": "chess"}, "task 'chess': choose from classification"),
        ({"domains": "recurring:0"}, "domains 'recurring:0': choose from sequence"),
        ({"data": ()}, "at least one domain"),
        ({"seed": "0"}, "seed '0': expected int"),
        ({"epochs": True}, "epochs 'True': expected int"),
        ({"lr": "small"}, "lr 'small'"),
        ({"fit": Data("mnist")}, "is offline, not online"),
        ({"options": {"x": object()}}, "is not JSON"),
    ],
)
def test_a_case_that_makes_no_sense_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Case(**{"model": "m", "data": Data("mnist"), "method": "bn", **wrong})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="part"):
        Data("mnist", part=(5, 5))
