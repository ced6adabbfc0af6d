"""The suites are the paper's tables: their cells, settings, and what they share."""

from dataclasses import replace
from pathlib import Path

import pytest

from tent.bench.case import Case
from tent.bench.execute.build import find_select
from tent.bench.frozen_json import Frozen
from tent.bench.paper import published_value
from tent.bench.read.query import group_by_case, open_results, read_grid, stored_cases
from tent.bench.suite import Suite
from tent.bench.suites import SUITES, by_name, other_networks
from tent.bench.suites.cifar import FAMILIES, THRESHOLDS
from tent.bench.suites.streams import STREAM_SUITES
from tent.data.corruptions import BENCHMARK, HELD_OUT
from tent.select import feature_layers

TRAINED = {  # on some columns alone
    "cifar10-c": ("RG", "UDA-SS"),
    "cifar100-c": ("RG", "UDA-SS"),
    "digits": ("RG", "UDA-SS", "TTT"),
    "architectures": other_networks.LAYER_NORM,
}
BOUNDS = ("Oracle", "Oracle offline")
WHERE = {"cifar10-c": FAMILIES, "cifar100-c": FAMILIES, "digits": ("MNIST", "MNIST-M", "USPS")}
WHERE["architectures"] = tuple(column for column in SUITES["architectures"].columns if not column.startswith("BN, "))
RESULTS = Path(__file__).resolve().parents[2] / "results"


def cases(suite: Suite, row: str, seeds: tuple[int, ...] = (0,), limit: int | None = None) -> list[Case]:
    return [cell.case for cell in suite.cells(seeds, limit) if cell.row == row]


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_a_suite_is_a_whole_grid_for_every_seed(suite: Suite) -> None:
    cells = suite.cells((0, 7), None)
    places = [(cell.row, cell.column, cell.case.seed) for cell in cells]
    whole = {(row, column, seed) for row in suite.rows for column in suite.columns for seed in (0, 7)}
    assert whole - set(places) == {
        place
        for place in whole
        if (place[0] in TRAINED.get(suite.name, ()) and place[1] not in WHERE[suite.name])
        or (place[0] == "Tent offline 100 epochs" and place[1] != "MNIST")
    }
    assert set(places) <= whole
    assert len(set(places)) == len(places)
    assert SUITES[suite.name] is suite
    assert any(cell.case.model == suite.model for cell in cells)


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_all_methods_share_the_order_and_the_images(suite: Suite) -> None:
    cells = suite.cells((3,), None)
    for column in suite.columns:
        own = [cell.case for cell in cells if cell.column == column]
        assert {case.seed for case in own} == {3}
        assert len({case.images for case in own if not case.model.startswith(("densenet", "mdeq"))}) == 1
        if suite.name not in ("generalise", "cifar10-c-severities"):  # whose rows name other images
            assert len({case.data for case in own}) == 1


def test_cifar10_c_is_the_papers_table() -> None:
    suite = by_name("cifar10-c")
    rows = ("Source", "RG", "UDA-SS", "TTT", "TTT offline", "BN", "PL", "PL offline", "Tent", "Tent offline", *BOUNDS)
    assert suite.rows == by_name("cifar100-c").rows == rows
    assert suite.columns == BENCHMARK
    assert len(BENCHMARK) == 15
    for cell in suite.cells((0,), None):
        case = cell.case
        assert (case.batch_size, case.images, case.epochs) == (128, None, 1)
        assert case.model == "r26-cifar10" or cell.row.startswith(("RG", "UDA-SS", "TTT"))
        assert (case.data[0].corruption, case.data[0].severity) == (cell.column, 5)
    for row in ("PL", "PL offline", "Tent", "Tent offline", *BOUNDS):
        assert {(case.optimizer, case.lr) for case in cases(suite, row)} == {("adam", 1e-3)}
    for row in ("PL", "Tent", "TTT"):
        assert [replace(case, when="offline") for case in cases(suite, row)] == cases(suite, f"{row} offline")
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
            (type_, f"trained:{method}-cifar10-cifar10-c-{type_}-5-train") for type_ in FAMILIES
        ]
        on_test = cases(by_name("cifar10-c-on-test"), f"{row}, on test images")
        assert [case.model for case in on_test] == [
            f"trained:{method}-cifar10-cifar10-c-{type_}-5" for type_ in FAMILIES
        ]
        hundred = {cell.case.model for cell in by_name("cifar100-c").cells((0,), None) if cell.row == row}
        assert f"trained:{method}-cifar100-cifar100-c-fog-5-train" in hundred
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
        "Tent offline 100 epochs": {("tent", "offline", 100)},
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


def test_generalise_learns_from_target_train_and_tests_on_target_test() -> None:
    suite = by_name("generalise")
    for limit, most in ((None, 10_000), (100, 100), (20_000, 10_000)):
        for place, (column, epochs) in enumerate([("gaussian_noise", 1), ("SVHN→MNIST", 10)]):
            own = {row: cases(suite, row, limit=limit)[-place] for row in suite.rows}
            assert len({case.data for case in own.values()}) == 1, column
            test, train, part = (own[f"Tent offline, on {what}"] for what in ("test", "train", "as much of train"))
            assert {(case.when, case.epochs) for case in (test, train, part)} == {("offline", epochs)}
            assert test.fit is None
            times = 6 if column == "SVHN→MNIST" else 5  # training images for each test image
            cut = {} if most == 10_000 else {"part": (0, times * most)}
            assert train.fit == replace(test.data[0], split="train", **cut)
            assert part.fit == replace(test.data[0], split="train", part=(0, most))
    assert cases(suite, "Tent offline, on test")[-1] in cases(by_name("digits"), "Tent offline 10 epochs")


@pytest.mark.parametrize("name", ["cifar10-c", "cifar100-c", "imagenet-c"])
def test_by_type_is_over_the_five_levels_beside_the_original_data(name: str) -> None:
    suite = by_name(f"{name}-by-type")
    assert suite.only_means
    assert list(suite.means) == ["original", *BENCHMARK, "mean"]
    assert suite.means["fog"] == tuple(f"fog {severity}" for severity in range(1, 6))
    assert len(suite.means["mean"]) == 75
    by_column = {cell.column: cell.case.data[0] for cell in suite.cells((0,), None)}
    assert (by_column["original"].name, by_column["original"].corruption) == (name.removesuffix("-c"), None)
    assert (by_column["fog 3"].name, by_column["fog 3"].corruption, by_column["fog 3"].severity) == (name, "fog", 3)
    table = {cell.case for cell in by_name(name).cells((0,), None)}
    assert len(table & {cell.case for cell in suite.cells((0,), None)}) == 15 * len(suite.rows)


def test_the_table_of_models_shares_the_cases_of_each_models_own_table() -> None:
    suite = by_name("models")
    own = suite.cells((0,), None)
    assert {(cell.row, cell.case.model, cell.case.images) for cell in own} == {
        *(("R-26", f"r26-{name}", None) for name in ("cifar10", "cifar100")),
        *(("R-26, width 2", f"r26w2-{name}", None) for name in ("cifar10", "cifar100")),
        *(("public DenseNet", f"densenet-{name}", 2000) for name in ("cifar10", "cifar100")),
    }
    assert {len(columns) for columns in suite.means.values()} == {15}
    assert len(suite.means) == 8
    for name in ("cifar10", "cifar100"):
        tables = [
            by_name(f"{name}-c").cells((0,), None),
            by_name(f"{name}-c").with_model(f"r26w2-{name}").cells((0,), None),
            by_name(f"{name}-c").with_model(f"densenet-{name}").cells((0,), 2000),
        ]
        every = {cell.case for table in tables for cell in table}
        assert {cell.case for cell in own if cell.case.model.endswith(name)} <= every
    assert {cell.case.images for cell in suite.cells((0,), 100)} == {100}


def test_claims_are_tents_parts_at_full_size() -> None:
    suite = by_name("claims")
    assert {cell.case.images for cell in suite.cells((0,), None)} == {None}
    assert cases(suite, "Tent") == [case for case in cases(by_name("cifar10-c"), "Tent") if _type(case) in FAMILIES]
    assert {case.stats for case in cases(suite, "without new statistics")} == {"source"}
    for row, select in (("last layer only", "last_layer"), ("all parameters", "everything")):
        epochs = [cases(suite, each)[0].epochs for each in (row, f"{row}, 3 epochs", f"{row}, 10 epochs")]
        assert epochs == [1, 3, 10]
        assert {case.select for case in cases(suite, f"{row}, 10 epochs")} == {select}


def _type(case: Case) -> str | None:
    return case.data[0].corruption


def test_another_batch_is_another_protocol_in_every_cell() -> None:
    suite = by_name("cifar10-c").with_model("robustbench:Standard").with_batch(200)
    assert {cell.case.batch_size for cell in suite.cells((0,), None)} == {200}
    assert suite.choice is not None
    assert {(cell.case.batch_size, cell.case.model) for cell in suite.choice.cells(None)} == {
        (200, "robustbench:Standard")
    }
    assert "robustbench:Standard" in {cell.case.model for cell in suite.cells((0,), None)}


def test_another_batch_leaves_single_images_alone() -> None:
    suite = by_name("segmentation").with_batch(2)
    sizes = {cell.row: cell.case.batch_size for cell in suite.cells((0,), None)}
    alone = {"BN, single images", "Tent episodic 1", "Tent episodic 5", "Tent episodic 10"}
    assert {row for row, size in sizes.items() if size == 1} == alone
    assert {size for row, size in sizes.items() if row not in alone} == {2}
    with pytest.raises(ValueError, match="single is of single images alone; leave out --batch 8"):
        by_name("single").with_batch(8)


def test_another_batch_leaves_rows_about_a_batch_alone() -> None:
    sizes = {cell.row: cell.case.batch_size for cell in by_name("ablation").with_batch(64).cells((0,), None)}
    assert {row: size for row, size in sizes.items() if size != 64} == {f"batch {n}": n for n in (1, 8, 32, 128, 500)}


def test_every_result_on_record_has_its_place_in_a_suite() -> None:
    results, warnings = open_results(RESULTS)
    assert not warnings
    by_case = group_by_case(results)
    found: set[str] = set()
    grouped = by_name("correlated").with_model("r26-gn-cifar10")
    dense = by_name("continual").with_model("densenet-cifar10")
    for suite in (*SUITES.values(), by_name("recurring").with_batch(64), grouped, dense):
        cut = suite.name in (*STREAM_SUITES, "segmentation")  # streams that are too long here
        cuts = (64, 100, 200, 500, 2000) if cut else ()
        for limit in (None, *cuts):
            found |= {result.case.key() for case in stored_cases(suite, by_case, limit) for result in by_case[case]}
    assert len(found) == len(results) >= 517


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("imagenet-c", "timm:resnet50.tv_in1k"),
        ("imagenet-c-by-type", "timm:resnet50.tv_in1k"),
        ("imagenet-val5k-c", "efficientnet-lite:0"),
        ("imagenet-val5k-c-by-type", "efficientnet-lite:0"),
    ],
)
def test_photographs_have_the_papers_settings(name: str, model: str) -> None:
    suite = by_name(name)
    learns = cases(suite, "Tent") + cases(suite, "Tent offline") + cases(suite, "PL")
    assert {(case.model, case.optimizer, case.momentum, case.lr) for case in learns} == {(model, "sgd", 0.9, 2.5e-4)}
    assert {cell.case.batch_size for cell in suite.cells((0,), None)} == {64}
    assert suite.rows == ("Source", "BN", "PL", "Tent", "Tent offline")


def test_visda_c_has_the_papers_settings_for_sets_other_than_imagenet() -> None:
    suite = by_name("visda-c")
    learns = cases(suite, "Tent") + cases(suite, "Tent offline")
    assert {(case.optimizer, case.lr, case.batch_size) for case in learns} == {("adam", 1e-3, 128)}
    assert {case.model for case in learns} == {"trained:timm-resnet50.tv_in1k-visda-c"}


def test_corrupted_photographs_in_small_are_all_5000_at_severity_5_and_1000_at_all_levels() -> None:
    table, levels = by_name("imagenet-val5k-c"), by_name("imagenet-val5k-c-by-type")
    assert {cell.case.images for cell in table.cells((0,), None)} == {None}
    for limit, images in ((None, 1000), (5000, 1000), (100, 100)):
        assert {cell.case.images for cell in levels.cells((0,), limit)} == {images}
    data = {cell.column: cell.case.data[0] for cell in levels.cells((0,), None)}
    assert (data["original"].name, data["original"].corruption) == ("imagenet-val5k", None)
    assert (data["fog 3"].name, data["fog 3"].severity) == ("imagenet-val5k-c", 3)
    assert list(levels.means) == ["original", *BENCHMARK, "mean"]
    assert len(levels.means["mean"]) == 75


@pytest.mark.parametrize("name", ["imagenet-c", "imagenet-val5k-c"])
def test_a_threshold_for_photographs_is_chosen_on_a_thousand_of_each_held_out_type(name: str) -> None:
    for suite in (by_name(name), by_name(f"{name}-by-type")):
        assert suite.choice is not None
        assert {case.choose["threshold"] for case in cases(suite, "PL")} == {suite.choice.suite} == {f"{name}-choice"}
        candidates = suite.choice.cells(None)
        assert {cell.column for cell in candidates} == set(HELD_OUT)
        assert {(cell.case.images, cell.case.seed) for cell in candidates} == {(1000, 0)}
        assert {cell.case.images for cell in suite.choice.cells(64)} == {64}
        assert [cell.case.options["threshold"] for cell in candidates[::4]] == list(THRESHOLDS)
    shown = by_name(f"{name}-choice").cells((0,), None)
    assert {cell.case for cell in candidates} == {cell.case for cell in shown}


@pytest.mark.parametrize("name", ["imagenet-c", "imagenet-val5k-c"])
def test_rates_are_compared_on_types_that_no_other_table_has(name: str) -> None:
    suite, table = by_name(f"{name}-rates"), by_name(name)
    assert suite.columns == HELD_OUT
    assert not set(suite.columns) & set(table.columns)
    rates = {row: {case.lr for case in cases(suite, row)} for row in suite.rows}
    assert rates["BN"] == {None}
    assert rates["Tent at 0.00025"] == {case.lr for case in cases(table, "Tent")} == {2.5e-4}
    assert rates["Tent at 0.04"] == {0.04}
    assert {(cell.case.images, cell.case.batch_size) for cell in suite.cells((0,), None)} == {(1000, 64)}


def test_the_tuned_rate_is_the_best_of_those_on_record_and_changes_nothing_else() -> None:
    rates, tuned = by_name("imagenet-val5k-c-rates"), by_name("imagenet-val5k-c-tuned")
    found = read_grid(rates, open_results(RESULTS)[0]).entries
    means = {row: sum(found[row, column].values("error")[0] for column in HELD_OUT) for row in rates.rows}
    assert tuned.rows[-1] == min(means, key=lambda row: means[row])
    own, others = cases(tuned, "Tent"), cases(tuned, tuned.rows[-1])
    assert [replace(case, lr=2.5e-4) for case in others] == own
    assert {case.images for case in own} == {1000}


def test_the_papers_means_over_levels_stand_beside_them_and_nothing_else() -> None:
    assert published_value("imagenet-c-by-type", "Tent offline", "mean") == 42.3
    for name in ("imagenet-c", "imagenet-val5k-c", "imagenet-val5k-c-by-type", "pacs", "natural"):
        suite = by_name(name)
        titles = (*suite.columns, *suite.means)
        assert {published_value(name, row, title) for row in suite.rows for title in titles} == {None}
    assert published_value("visda-c", "Tent on all but the classifier", "VisDA-C") == 39.6


def test_pacs_goes_from_photographs_to_drawings_and_may_move_all_but_the_classifier() -> None:
    suite = by_name("pacs")
    data = {cell.column: cell.case.data[0] for cell in suite.cells((0,), None)}
    assert [(column, data[column].name, data[column].split) for column in suite.columns] == [
        ("photo", "pacs-photo", "test"),
        ("art painting", "pacs-art-painting", "test"),
        ("cartoon", "pacs-cartoon", "test"),
        ("sketch", "pacs-sketch", "test"),
    ]
    assert dict(suite.means) == {"mean": suite.columns[1:]}
    assert {(cell.case.model, cell.case.batch_size) for cell in suite.cells((0,), None)} == {(suite.model, 64)}
    assert suite.model == "trained:efficientnet-lite-0-pacs-photo"
    for row in ("PL", "Tent", "Tent on all but the classifier", "SHOT-IM"):
        words = row.split(" ", 1)
        offline = " ".join([words[0], "offline", *words[1:]])
        assert [replace(case, when="offline") for case in cases(suite, row)] == cases(suite, offline)
    features = {(case.method, case.select, case.optimizer, case.lr) for case in cases(suite, "SHOT-IM")}
    assert features == {("shot", "feature_layers", "sgd", 1e-3)}
    assert {(case.select, case.optimizer, case.lr) for case in cases(suite, "Tent")} == {(None, "adam", 5e-4)}
    assert {case.select for case in cases(by_name("visda-c"), "Tent on all but the classifier")} == {"feature_layers"}
    assert find_select("feature_layers") is feature_layers


def test_natural_is_source_bn_and_tent_on_each_set_with_its_own_model_and_settings() -> None:
    suite = by_name("natural")
    own = {(cell.row, cell.column): cell.case for cell in suite.cells((0,), None)}
    small, large = own["Tent", "CIFAR-10.1"], own["Tent", "ImageNetV2"]
    assert (small.model, small.data[0].name, small.optimizer, small.batch_size) == (
        *("r26-cifar10", "cifar10.1"),
        *("adam", 128),
    )
    assert (large.model, large.data[0].name, large.optimizer, large.batch_size) == (
        *("timm:resnet50.tv_in1k", "imagenetv2"),
        *("sgd", 64),
    )
    assert {case.method for (row, _), case in own.items() if row == "BN"} == {"bn"}


def test_another_model_takes_the_place_of_the_suites_own() -> None:
    suite = by_name("digits").with_model("mine.py:net")
    assert suite.model == "mine.py:net"
    models = {(cell.row, cell.column): cell.case.model for cell in suite.cells((0,), None)}
    assert models["Source", "MNIST"] == models["Oracle", "USPS"] == "mine.py:net"
    assert set(models.values()) == {"mine.py:net"}  # r26-mnist's column and the rows of RG would be of other models
    assert "RG" not in suite.rows
    with pytest.raises(ValueError, match="models compares models, and has no one place for mine; leave out --model"):
        by_name("models").with_model("mine")
    chosen = by_name("cifar10-c").with_model("mine.py:net")
    assert chosen.choice is not None
    assert {cell.case.model for cell in chosen.choice.cells(None)} == {"mine.py:net"}
    theirs = [cell for cell in by_name("cifar10-c").cells((0,), None) if cell.case.model == "r26-cifar10"]
    assert [replace(c.case, model="r26-cifar10") for c in chosen.cells((0,), None)] == [c.case for c in theirs]
    assert chosen.title == "CIFAR-10-C, severity 5"


def test_an_unknown_suite() -> None:
    with pytest.raises(ValueError, match="no suite 'imagenet'; there are cifar10-c, "):
        by_name("imagenet")


def test_architectures_is_table_4_beside_r26_and_networks_with_layer_norm_without_bn() -> None:
    suite = by_name("architectures")
    found = suite.cells((0,), None)
    assert {cell.case.model for cell in found if cell.row == "MDEQ"} == {"mdeq-w0.25-cifar100"}
    assert len(found) == 4 * 4 * 15 + 2 * 3 * 15
    assert {cell.case.method for cell in found if cell.row == "ViT"} == {"source", "tent"}
    plain = {cell.case for cell in by_name("cifar100-c").cells((0,), other_networks.IMAGES)}
    assert {cell.case for cell in found if cell.row == "R-26"} <= plain  # run once for both tables
    assert {cell.case.images for cell in suite.cells((0,), 10)} == {10}
    assert published_value("architectures", "SAN-10 patch", "Tent offline") == 29.2
    assert published_value("architectures", "SAN-10 patch", "Tent") is None  # which the paper's is not
