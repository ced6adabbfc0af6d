"""The suites are the paper's tables: their cells, settings, and what they share."""

from dataclasses import replace

import pytest

from tent.bench.case import Case
from tent.bench.frozen_json import Frozen
from tent.bench.suite import Suite
from tent.bench.suites import SUITES, by_name
from tent.bench.suites.cifar import FAMILIES, THRESHOLDS
from tent.data.corruptions import BENCHMARK, HELD_OUT

TRAINED = {"cifar10-c": ("RG", "UDA-SS"), "digits": ("RG", "UDA-SS", "TTT")}  # on some columns alone
BOUNDS = ("Oracle", "Oracle offline")
WHERE = {"cifar10-c": FAMILIES, "digits": ("MNIST", "MNIST-M", "USPS")}


def cases(suite: Suite, row: str, seeds: tuple[int, ...] = (0,), limit: int | None = None) -> list[Case]:
    return [cell.case for cell in suite.cells(seeds, limit) if cell.row == row]


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_a_suite_is_a_whole_grid_for_every_seed(suite: Suite) -> None:
    cells = suite.cells((0, 7), None)
    places = [(cell.row, cell.column, cell.case.seed) for cell in cells]
    whole = {(row, column, seed) for row in suite.rows for column in suite.columns for seed in (0, 7)}
    assert whole - set(places) == {
        place for place in whole if place[0] in TRAINED.get(suite.name, ()) and place[1] not in WHERE[suite.name]
    }
    assert set(places) <= whole
    assert len(set(places)) == len(places)
    assert SUITES[suite.name] is suite
    assert any(cell.case.model == suite.model for cell in cells)


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_all_methods_share_the_order_and_the_images(suite: Suite) -> None:
    for column in suite.columns:
        own = [cell.case for cell in suite.cells((3,), None) if cell.column == column]
        assert {case.seed for case in own} == {3}
        assert len({case.images for case in own}) == 1
    if suite.name not in ("generalise", "cifar10-c-severities"):  # whose rows name other images
        assert all(
            len({cell.case.data for cell in suite.cells((3,), None) if cell.column == column}) == 1
            for column in suite.columns
        )


def test_cifar10_c_is_the_papers_table() -> None:
    suite = by_name("cifar10-c")
    assert suite.rows == ("Source", "RG", "UDA-SS", "TTT", "BN", "PL", "Tent", "Tent offline", *BOUNDS)
    assert suite.columns == BENCHMARK
    assert len(BENCHMARK) == 15
    for cell in suite.cells((0,), None):
        case = cell.case
        assert (case.batch_size, case.images, case.epochs) == (128, None, 1)
        assert case.model == "r26-cifar10" or cell.row in ("RG", "UDA-SS", "TTT")
        assert (case.data[0].corruption, case.data[0].severity) == (cell.column, 5)
    for row in ("PL", "Tent", "Tent offline", *BOUNDS):
        assert {(case.optimizer, case.lr) for case in cases(suite, row)} == {("adam", 1e-3)}
    assert {case.when for case in cases(suite, "Tent offline")} == {"offline"}
    assert {case.choose["threshold"] for case in cases(suite, "PL")} == {"cifar10-c-choice"}
    for name in ("cifar10-c", "digits"):
        for row, bound in zip(("Tent", "Tent offline"), BOUNDS, strict=True):  # alike but for the labels
            own = [replace(case, method="oracle") for case in cases(by_name(name), row)]
            assert own == cases(by_name(name), bound)


def test_what_alters_training_is_a_model_of_its_own_a_target_or_one_for_all() -> None:
    suite = by_name("cifar10-c")
    for row, method in (("RG", "rg"), ("UDA-SS", "uda-ss")):
        own = [cell for cell in suite.cells((0,), None) if cell.row == row]
        assert [(cell.column, cell.case.model) for cell in own] == [
            (type_, f"trained:{method}-cifar10-cifar10-c-{type_}-5") for type_ in FAMILIES
        ]
        assert {cell.case.method for cell in own} == {"source"}
        digits = [cell.case for cell in by_name("digits").cells((0,), None) if cell.row == row]
        assert [(case.model, case.data[0].name, case.method) for case in digits] == [
            (f"trained:{method}-svhn-{name}", name, "source") for name in ("mnist", "mnist-m", "usps")
        ]
    ttt = cases(suite, "TTT")
    assert len(ttt) == 15
    assert {(c.model, c.method, c.answers, c.when, c.optimizer, c.lr, c.options) for c in ttt} == {
        ("trained:ttt-cifar10", "ttt", None, "online", None, None, Frozen())
    }
    own = cases(by_name("digits"), "TTT")
    assert {case.model for case in own} == {"trained:ttt-svhn"}
    assert [replace(case, model=ttt[0].model, data=ttt[0].data) for case in own] == [ttt[0]] * 3


def test_means_are_of_all_types_and_of_one_of_each_family() -> None:
    assert dict(by_name("cifar10-c").means) == {"mean": BENCHMARK, "mean of 4 types": FAMILIES}
    for suite in SUITES.values():
        assert all(set(columns) <= set(suite.columns) for columns in suite.means.values()), suite.name


def test_test_time_training_of_single_images_can_be_said() -> None:
    case = replace(cases(by_name("cifar10-c"), "TTT")[0], reset="batch", batch_size=1, options={"copies": 32})
    assert Case.from_json(case.to_json()) == case


def test_pls_threshold_is_chosen_on_types_that_no_table_has() -> None:
    for name in ("cifar10-c", "cifar10-c-severities", "cifar100-c"):
        suite = by_name(name)
        assert suite.choice is not None
        candidates = suite.choice.cells(None)
        assert {cell.column for cell in candidates} == set(HELD_OUT)
        assert not {cell.column for cell in candidates} & set(suite.columns)
        assert [cell.case.options["threshold"] for cell in candidates[::4]] == list(THRESHOLDS)
        assert {cell.case.seed for cell in candidates} == {0}
        assert {cell.case.data[0].severity for cell in candidates} == {5}
        few = suite.choice.cells(64)
        assert {cell.case.images for cell in few} == {64}
    ours = by_name("cifar10-c").choice
    assert ours is not None
    assert {c.case for c in ours.cells(None)} == {c.case for c in by_name("cifar10-c-choice").cells((0,), None)}


def test_all_severities_hold_the_table_of_the_fifth() -> None:
    table = {cell.case for cell in by_name("cifar10-c").cells((0,), None)}
    every = by_name("cifar10-c-severities").cells((0,), None)
    fifth = {cell.case for cell in every if cell.row.endswith("severity 5")}
    assert fifth < table
    assert len(every) == 5 * len(fifth)
    assert len(fifth) == 5 * 15


def test_digits_are_resized_and_have_the_papers_rows() -> None:
    suite = by_name("digits")
    own = [cell for cell in suite.cells((0,), None) if cell.row not in TRAINED["digits"]]
    where = {cell.column: (cell.case.model, cell.case.data[0].name) for cell in own}
    assert where == {
        "MNIST": ("r26-svhn", "mnist"),
        "MNIST-M": ("r26-svhn", "mnist-m"),
        "USPS": ("r26-svhn", "usps"),
        "MNIST→SVHN": ("r26-mnist", "svhn"),
    }
    assert {cell.case.data[0].size for cell in suite.cells((0,), None)} == {32}
    rows = {row: {(case.method, case.when, case.epochs) for case in cases(suite, row)} for row in suite.rows}
    assert rows == {
        "Source": {("source", "online", 1)},
        "RG": {("source", "online", 1)},
        "UDA-SS": {("source", "online", 1)},
        "TTT": {("ttt", "online", 1)},
        "BN": {("bn", "online", 1)},
        "Tent": {("tent", "online", 1)},
        "Tent offline": {("tent", "offline", 1)},
        "Tent 10 epochs": {("tent", "online", 10)},
        "Tent offline 10 epochs": {("tent", "offline", 10)},
        "Oracle": {("oracle", "online", 1)},
        "Oracle offline": {("oracle", "offline", 1)},
    }


def test_the_ablation_changes_one_thing_at_a_time_and_shares_tents_own_case() -> None:
    suite = by_name("ablation")
    tent = cases(suite, "Tent")
    assert {case.images for case in tent} == {2000}
    for same in ("learning rate 0.001", "batch 128", "1 step"):
        assert cases(suite, same) == tent
    assert {case.images for case in cases(suite, "Tent", limit=100)} == {100}
    assert {case.images for case in cases(suite, "Tent", limit=5000)} == {2000}
    fields = ("method", "select", "stats", "lr", "batch_size", "steps", "answers")
    for row in suite.rows:
        changed = [name for name in fields if getattr(cases(suite, row)[0], name) != getattr(tent[0], name)]
        assert len(changed) <= 1 or row == "without γ and β (BN)", row
    assert len({cell.case for cell in suite.cells((0,), None)}) == 4 * (len(suite.rows) - 3)


def test_generalise_learns_from_one_half_and_tests_on_both_at_one_size() -> None:
    suite = by_name("generalise")
    for limit, half in ((None, 5000), (100, 50), (1, 1)):
        same, other = (cases(suite, f"Tent offline, {which} half", limit=limit)[0] for which in ("same", "other"))
        assert (same.data[0].part, other.data[0].part) == ((0, half), (half, 2 * half))
        assert (other.fit,) == same.data
        assert same.fit is None
        assert (same.when, other.when) == ("offline", "offline")
        for method in ("Source", "BN"):
            parts = [
                cases(suite, f"{method}, {which} half", limit=limit)[0].data[0].part for which in ("same", "other")
            ]
            assert parts == [same.data[0].part, other.data[0].part]


@pytest.mark.parametrize("name", ["imagenet-c", "visda-c"])
def test_large_images_have_the_papers_settings(name: str) -> None:
    suite = by_name(name)
    for case in cases(suite, "Tent") + cases(suite, "Tent offline"):
        assert (case.model, case.optimizer, case.momentum, case.lr) == ("timm:resnet50", "sgd", 0.9, 2.5e-4)
    assert {cell.case.batch_size for cell in suite.cells((0,), None)} == {64}


def test_another_model_takes_the_place_of_the_suites_own() -> None:
    suite = by_name("digits").with_model("mine.py:net")
    assert suite.model == "mine.py:net"
    models = {(cell.row, cell.column): cell.case.model for cell in suite.cells((0,), None)}
    assert models["Source", "MNIST"] == models["Oracle", "USPS"] == "mine.py:net"
    assert models["Source", "MNIST→SVHN"] == "r26-mnist"
    assert models["RG", "MNIST"] == "trained:rg-svhn-mnist"  # trained for its target, and no other's
    chosen = by_name("cifar10-c").with_model("mine.py:net")
    assert chosen.choice is not None
    assert {cell.case.model for cell in chosen.choice.cells(None)} == {"mine.py:net"}
    theirs = by_name("cifar10-c").cells((0,), None)
    assert [
        replace(c.case, model="r26-cifar10") if c.case.model == "mine.py:net" else c.case
        for c in chosen.cells((0,), None)
    ] == [c.case for c in theirs]


def test_an_unknown_suite() -> None:
    with pytest.raises(ValueError, match="no suite 'imagenet'; there are cifar10-c, "):
        by_name("imagenet")
