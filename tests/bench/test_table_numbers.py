"""What a table says, against sums done by hand."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from readings import DATA, failure, fill, kept, result
from tinysuite import stored, tiny

from tent.bench.case import Case, Data
from tent.bench.paper import MEAN, PAPER, published_value
from tent.bench.read.compute import cost
from tent.bench.read.grid import summarize
from tent.bench.read.provenance import read_provenance
from tent.bench.read.query import Query, read_grid
from tent.bench.render.table import Field, build_table
from tent.bench.store import Store
from tent.bench.suite import Cell, Suite
from tent.bench.suites import SUITES


def fields(made: object, head: str) -> dict[str, Field]:
    line = next(line for line in made.lines if line.head == head)
    return dict(zip(made.heads, line.fields, strict=True))


def said(field: Field) -> tuple[str, str, bool]:
    return field.text, field.spread, field.bold


def test_means_spreads_and_the_best_are_those_done_by_hand(tmp_path: Path) -> None:
    made = build_table(read_grid(tiny(), stored(tmp_path).all()))
    assert made.heads == ("one", "two", "mean")
    assert [line.head for line in made.lines] == ["first", "second"]
    first, second = fields(made, "first"), fields(made, "second")
    assert said(first["one"]) == ("12.00", "2.00", False)  # 10, 12 and 14
    assert said(first["two"]) == ("20.00", "0.00", True)
    assert said(first["mean"]) == ("16.00", "1.00", True)  # of the seeds' own means: 15, 16 and 17
    assert said(second["one"]) == ("11.00", "0.00", True)
    assert said(second["two"]) == ("33.00", "3.00", False)  # 30, 33 and 36
    assert said(second["mean"]) == ("22.00", "1.50", False)  # 20.5, 22 and 23.5
    assert "Mean ± standard deviation (n − 1), n = 3 orders of the stream (seeds 0, 1, 2)" in made.caption[0]
    assert made.notes == ()


def test_one_seed_has_no_spread_and_says_so(tmp_path: Path) -> None:
    made = build_table(read_grid(tiny(), stored(tmp_path).all(), Query(seeds=(1,))))
    assert said(fields(made, "first")["mean"]) == ("16.00", "", True)
    assert "n = 1 order of the stream (seed 1); one training of each model, so no spread" in made.caption[0]


def constant(**changes: object) -> Suite:
    """Return a suite of a model that is not updated, and of BN."""

    def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
        case = Case("net", (Data("set"),), "bn", images=limit)
        fixed = replace(case, method="source", **changes)
        rows = {"Source": fixed, "BN": case}
        return [Cell(row, "one", replace(own, seed=seed)) for seed in seeds for row, own in rows.items()]

    return Suite("constant", "Constant", cells, ("Source", "BN"), ("one",), "net", means={"mean": ("one",)})


def test_no_spread_is_shown_where_no_seed_could_change_a_number(tmp_path: Path) -> None:
    suite = constant()
    made = build_table(
        read_grid(suite, kept(tmp_path, *(result(c.case, 0.5) for c in suite.cells((0, 1), None))).all())
    )
    assert [said(fields(made, "Source")[name])[:2] for name in ("one", "mean")] == [("50.00", "")] * 2
    assert said(fields(made, "BN")["one"])[:2] == ("50.00", "0.00")  # batches differ from seed to seed
    assert "one training of each model. No ± for Source, whose answers do not depend on the seed." in made.caption[0]


@pytest.mark.parametrize("changes", [{"images": 10}, {"stats": "batch"}, {"data": (Data("set", part=(0, 5)),)}])
def test_a_seed_that_draws_images_or_batches_has_a_spread(tmp_path: Path, changes: dict[str, object]) -> None:
    suite = constant(**changes)
    made = build_table(
        read_grid(suite, kept(tmp_path, *(result(c.case, 0.5) for c in suite.cells((0, 1), None))).all())
    )
    assert said(fields(made, "Source")["one"])[:2] == ("50.00", "0.00")
    assert "No ±" not in made.caption[0]
    assert ("each with its own draw of images" in made.caption[0]) == ("stats" not in changes)


def test_a_spread_that_should_not_be_is_shown(tmp_path: Path) -> None:
    suite = constant()
    results = [result(c.case, 0.5 + 0.1 * c.case.seed) for c in suite.cells((0, 1), None)]
    made = build_table(read_grid(suite, kept(tmp_path, *results).all()))
    assert said(fields(made, "Source")["one"])[:2] == ("55.00", "7.07")


def test_trainings_of_each_seed_are_told_from_one(tmp_path: Path) -> None:
    suite = constant()

    def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
        own = suite.cells(seeds, limit)
        return [
            replace(c, case=replace(c.case, model=f"trained:{c.case.seed}")) if c.row == "Source" else c for c in own
        ]

    again = replace(suite, cells=cells)
    results = [
        result(c.case.pin(f"{c.case.seed}{c.row}" * 8, lambda _: DATA), 0.5 + 0.1 * c.case.seed) if c.row == "Source"
        else result(c.case, 0.5)
        for c in cells((0, 1), None)
    ]  # fmt: skip
    made = build_table(read_grid(again, kept(tmp_path, *results).all()))
    assert "a training for each seed in Source, one training elsewhere" in made.caption[0]
    assert said(fields(made, "Source")["one"])[:2] == ("55.00", "7.07")
    assert made.notes[0].endswith("; a training for each seed")


def test_numbers_that_look_alike_are_both_best(tmp_path: Path) -> None:
    suite = tiny()
    store = kept(tmp_path, *(result(cell.case, 0.1 + 1e-7 * i) for i, cell in enumerate(suite.cells((0,), None))))
    made = build_table(read_grid(suite, store.all()))
    assert all(field.bold for line in made.lines for field in line.fields)


def test_a_row_alone_is_not_best(tmp_path: Path) -> None:
    store = stored(tmp_path, keep=lambda cell: cell.row == "first")
    made = build_table(read_grid(tiny(), store.all()))
    assert not any(field.bold for field in fields(made, "first").values())


def test_the_best_is_among_rows_that_were_answered_on_the_same_data(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["cifar10-c-severities"]
    worse = {"Source": 0.05, "BN": 0.04, "PL": 0.03, "Tent": 0.02, "Tent offline": 0.01}
    fill(store, suite, (0,), lambda row, column, case: (0.1 * case.data[0].severity + worse[row.split(",")[0]], 1.0))
    made = build_table(read_grid(suite, store.all()))
    bold = {line.head for line in made.lines if all(field.bold for field in line.fields)}
    assert bold == {f"Tent offline, severity {i}" for i in range(1, 6)}
    assert {line.head for line in made.lines if any(field.bold for field in line.fields)} == bold


def test_what_is_missing_is_shown_and_is_in_no_mean(tmp_path: Path) -> None:
    gone = lambda cell: (cell.row, cell.column) != ("first", "two")  # noqa: E731
    made = build_table(read_grid(tiny(), stored(tmp_path, keep=gone).all()))
    first = fields(made, "first")
    assert (first["two"].kind, first["two"].text) == ("missing", "missing")
    assert first["mean"].kind == "missing"
    assert [made.notes[number - 1] for number in first["mean"].notes] == [
        "a mean is of rows in which no column is missing or failed"
    ]
    assert said(first["one"]) == ("12.00", "2.00", False)


def test_a_seed_that_is_missing_is_named_and_the_mean_is_of_whole_seeds(tmp_path: Path) -> None:
    gone = lambda cell: (cell.row, cell.column, cell.case.seed) != ("second", "two", 2)  # noqa: E731
    made = build_table(read_grid(tiny(), stored(tmp_path, keep=gone).all()))
    second = fields(made, "second")
    assert said(second["two"]) == ("31.50", "2.12", False)  # 30 and 33
    assert [made.notes[number - 1] for number in second["two"].notes] == ["seed 2 missing"]
    assert said(second["mean"])[:2] == ("21.25", "1.06")  # 20.5 and 22
    assert [made.notes[number - 1] for number in second["mean"].notes] == [
        "of seeds 0, 1 alone; the rest lack a column"
    ]


def test_what_failed_is_shown_with_its_error_once(tmp_path: Path) -> None:
    suite = tiny()
    store = stored(tmp_path, keep=lambda cell: cell.row == "first")
    for cell in suite.cells((0, 1, 2), None):
        if cell.row == "second":
            store.put(failure(cell.case, "FileNotFoundError: no such\nfile & more"))
    made = build_table(read_grid(suite, store.all()))
    second = fields(made, "second")
    assert {(second[name].kind, second[name].text) for name in ("one", "two")} == {("failed", "failed")}
    assert made.notes[0] == "failed, seeds 0, 1, 2: FileNotFoundError: no such file & more"
    assert second["one"].notes == second["two"].notes == (1,)


def test_a_failed_seed_is_told_beside_the_mean_of_the_others(tmp_path: Path) -> None:
    suite = tiny()
    store = stored(tmp_path, keep=lambda cell: (cell.row, cell.case.seed) != ("first", 0))
    for cell in suite.cells((0,), None):
        store.put(failure(cell.case, "ValueError: no")) if cell.row == "first" else None
    made = build_table(read_grid(suite, store.all()))
    one = fields(made, "first")["one"]
    assert said(one)[:2] == ("13.00", "1.41")  # 12 and 14
    assert [made.notes[number - 1] for number in one.notes] == ["failed, seed 0: ValueError: no"]


def test_the_papers_means_stand_under_ours(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["cifar10-c"]
    levels = {row: 0.1 * (i + 1) for i, row in enumerate(suite.rows)}
    fill(store, suite, (0, 1), lambda row, column, case: (levels[row] + 0.01 * case.seed, 1.0))
    made = build_table(read_grid(suite, store.all()))
    assert made.heads == suite.rows  # many columns: read down
    assert [line.head for line in made.lines[-3:]] == ["mean", "the paper's mean", "mean of 4 types"]
    assert [line.head for line in made.lines if line.ruled] == ["mean"]
    assert {name: field.text for name, field in fields(made, "the paper's mean").items()} == {
        "Source": "40.8",
        "RG": "18.3",
        "UDA-SS": "16.7",
        "TTT": "",
        "TTT offline": "17.5",
        "BN": "17.3",
        "PL": "",
        "PL offline": "15.7",
        "Tent": "",
        "Tent offline": "14.3",
        "Oracle": "",
        "Oracle offline": "",
    }
    means = [(f"{10 * (i + 1) + 0.5:.2f}", "0.71", i == 0) for i in range(12)]  # also where none was to be expected
    assert [said(field) for field in made.lines[-1].fields] == means
    means[1:3] = [("", "", False)] * 2  # RG and UDA-SS have four types, which is no mean of fifteen
    assert [said(field) for field in made.lines[-3].fields] == means
    assert any("Table 2" in remark for remark in made.remarks)


def test_the_papers_digits_stand_beside_ours(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["digits"]
    fill(store, suite, (0,), lambda row, column, case: (0.5, 1.0))
    made = build_table(read_grid(suite, store.all()))
    tent, ten = fields(made, "Tent offline"), fields(made, "Tent offline 10 epochs")
    assert [tent[f"{name}, paper"].text for name in ("MNIST", "MNIST-M", "USPS")] == ["10.0", "37.0", "16.3"]
    assert [ten[f"{name}, paper"].text for name in ("MNIST", "MNIST-M", "USPS")] == ["8.2", "36.8", "14.4"]
    assert (tent["MNIST→SVHN, paper"].text, fields(made, "Source")["MNIST→SVHN, paper"].text) == ("79.8", "71.3")
    assert made.heads[:2] == ("MNIST", "MNIST, paper")
    once = {
        row: fields(made, row)["MNIST, paper"].text for row in ("Tent", "Tent 10 epochs", "Tent offline 100 epochs")
    }
    assert once == {"Tent": "12.5", "Tent 10 epochs": "8.4", "Tent offline 100 epochs": "6.5"}
    assert fields(made, "Tent")["USPS, paper"].text == fields(made, "Tent")["MNIST→SVHN, paper"].text == ""


def test_a_table_of_means_alone_has_a_line_a_mean_and_no_column(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["models"]
    fill(store, suite, (0,), lambda row, column, case: (0.5, 1.0))
    made = build_table(read_grid(suite, store.all()))
    assert made.heads == ("R-26", "R-26, width 2", "public DenseNet")
    assert [line.head for line in made.lines[:4]] == [
        *("CIFAR-10-C, Source", "CIFAR-10-C, Source, paper", "CIFAR-10-C, BN", "CIFAR-10-C, BN, paper")
    ]
    assert [field.text for field in made.lines[1].fields] == ["40.8", "", ""]
    assert len(made.lines) == 8 + 6
    assert not any(line.ruled for line in made.lines)


def test_another_batch_is_a_table_of_its_own_without_the_papers_figures(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["digits"]
    fill(store, suite, (0,), lambda row, column, case: (0.5, 1.0))
    fill(store, suite.with_batch(200), (0,), lambda row, column, case: (0.25, 1.0))
    made = build_table(read_grid(suite, store.all(), Query(batch=200)))
    assert fields(made, "Tent")["MNIST"].text == "25.00"
    assert (made.title.endswith("batches of 200"), made.name) == (True, "digits-batch-200")
    assert not [head for head in made.heads if "paper" in head]
    assert made.remarks == ()


def test_another_model_is_not_held_beside_the_papers(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["cifar10-c"].with_model("other")
    fill(store, suite, (0,), lambda row, column, case: (0.5, 1.0))
    made = build_table(read_grid(SUITES["cifar10-c"], store.all(), Query(model="other")))
    assert "the paper's mean" not in [line.head for line in made.lines]
    assert made.remarks == ()
    assert made.title.endswith("model other")


def test_the_papers_figures_of_whole_streams_are_not_passed_off_as_of_a_part(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["digits"]
    for cell in suite.cells((0,), 64):
        store.put(result(cell.case, 0.5))
    made = build_table(read_grid(suite, store.all(), Query(limit=64)))
    assert made.remarks == ()
    assert not [head for head in made.heads if "paper" in head]
    assert made.title.endswith("the first 64 images of each stream")


def test_every_published_figure_has_its_place_in_a_suite() -> None:
    for name, parts in PAPER.items():
        if name in SUITES:
            suite = SUITES[name]
            for part in parts:
                assert part.values.keys() <= set(suite.rows), name
                columns = {column for values in part.values.values() for column in values}
                assert columns <= {*suite.columns, *suite.means}, name
    assert published_value("cifar10-c", "Tent offline", MEAN) == 14.3
    assert published_value("cifar10-c", "Tent", MEAN) is None
    assert not PAPER.keys() - SUITES.keys()
    assert published_value("nowhere", "Tent", MEAN) is None


def test_answering_is_seconds_an_image(tmp_path: Path) -> None:
    suite = tiny()
    seconds = iter((1.0, 2.0, 3.0, 4.0))
    store = kept(tmp_path, *(result(cell.case, 0.5, next(seconds), 500) for cell in suite.cells((0,), None)))
    grid = read_grid(suite, store.all())
    assert 1000 * cost(grid, "first", grid.columns).answering == pytest.approx(3.0)  # 3 seconds for 1,000 images
    assert 1000 * cost(grid, "second", ["two"]).answering == pytest.approx(8.0)
    assert summarize({}) is None


def test_terms_are_common_by_row_by_column_or_neither(tmp_path: Path) -> None:
    suite = tiny()
    words = {
        "order": "shuffled by seed {seed}",
        "data": "cifar {column} 5 (made with seed 0)",
        "method": "{row}",
        "size": "{length} images",
        "mixed": "{row}{length}",
    }
    results = [
        replace(
            result(cell.case, 0.5),
            protocol={
                name: text.format(seed=cell.case.seed, column=cell.column, row=cell.row, length=cell.case.data[0].name)
                for name, text in words.items()
            },
        )
        for cell in suite.cells((0, 1), None)
    ]
    found = read_provenance(read_grid(suite, kept(tmp_path, *results).all()))
    assert found.common == {"order": "shuffled by its seed", "data": "cifar [its column] 5 (made with seed 0)"}
    assert found.by_row == {"first": {"method": "first"}, "second": {"method": "second"}}
    assert found.by_column == {"one": {"size": "set-0 images"}, "two": {"size": "set-1 images"}}
    assert found.varied == {"mixed": "firstset-0 / firstset-1 / secondset-0 / secondset-1"}


def test_a_word_that_some_results_leave_out_is_not_common(tmp_path: Path) -> None:
    suite = tiny()
    results = [
        replace(
            result(cell.case, 0.5),
            protocol={"reset": "never", "training": "", **({"lr": "0.1"} if cell.row == "second" else {})},
        )
        for cell in suite.cells((0,), None)
    ]
    found = read_provenance(read_grid(suite, kept(tmp_path, *results).all()))
    assert found.common == {"reset": "never"}
    assert found.by_row["second"] == {"lr": "0.1"}
    assert not found.by_row["first"].get("lr")


def test_a_row_that_was_trained_otherwise_than_the_papers_has_no_figure_of_it(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["digits"]
    fill(store, suite, (0,), lambda row, column, case: (0.5, 1.0))
    for each in store.all():
        if each.case.model == "trained:rg-svhn-usps":
            store.put(replace(each, training={**each.training, "epochs": 2}))
    grid = read_grid(suite, store.all())
    assert (grid.paper("RG", "USPS"), grid.paper("RG", "MNIST"), grid.paper("BN", "USPS")) == (None, 15.0, 18.0)


def test_columns_of_a_part_of_a_published_set_say_so_beside_the_papers(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["digits"]
    fill(store, suite, (0,), lambda row, column, case: (0.5, 1.0))
    for each in store.all():
        if each.case.data[0].name == "svhn":
            words = {**each.protocol, "data": "svhn test (9 of the published 26 images): 9 images"}
            store.put(replace(each, protocol=words))
    remarks = build_table(read_grid(suite, store.all())).remarks
    assert "MNIST→SVHN: ours are 9 of the published 26 images, the paper's all of them." in remarks
    assert len([line for line in remarks if "of the published" in line]) == 1


def test_the_best_is_not_sought_among_rows_of_other_numbers_of_images(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["models"]
    fill(store, suite, (0,), lambda row, column, case: (0.2 if case.images else 0.5, 1.0))
    made = build_table(read_grid(suite, store.all()))
    place = made.heads.index("public DenseNet")  # 2,000 images, not 10,000
    assert not any(line.fields[place].bold for line in made.lines)


def test_a_row_of_several_chosen_values_is_refused(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), SUITES["cifar10-c"]
    fill(store, suite, (0, 1), lambda row, column, case: (0.5, 1.0))
    for each in store.all():
        if each.case.method == "pl" and each.choices and each.case.seed == 1:
            case = replace(each.case, options={"threshold": 0.5})
            store.put(replace(each, case=case, finished="2027-01-01T00:00:00+00:00"))
    with pytest.raises(ValueError, match=r"cifar10-c: results of PL are of several values of threshold \(0.5, 0.9\)"):
        read_grid(suite, store.all())
    assert read_grid(suite, store.all(), Query(seeds=(0,))).summary("PL") is not None
