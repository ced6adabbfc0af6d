"""The numbers of README and the guides are those on record: of the store, and of records in benchmarks/."""

import json
from collections.abc import Iterable
from functools import cache

import pytest
from pages import ROOT

from tent.apps import demo
from tent.bench.read.grid import Grid
from tent.bench.read.query import Query, open_results, read_grid
from tent.bench.result import Result
from tent.bench.suites import SUITES
from tent.data.corruptions import BENCHMARK

MEASURED = json.loads((ROOT / "benchmarks" / "conditions.json").read_text(encoding="utf-8"))
EPISODES = json.loads((ROOT / "benchmarks" / "segmentation.json").read_text(encoding="utf-8"))["settings"]
FAMILIES = ("gaussian_noise", "defocus_blur", "fog", "jpeg_compression")
METHODS = ("Source", "BN", "Tent")
DRAWINGS = ("art painting", "cartoon", "sketch")


@pytest.fixture(scope="module")
def grids() -> dict[str, Grid]:
    results = stored()
    shown = ("cifar10-c", "digits", "ablation", "pacs", "imagenet-val5k-c", "models")
    return {name: read_grid(SUITES[name], results) for name in shown}


@cache
def stored() -> list[Result]:
    """Return the results on record."""
    return open_results(ROOT / "results")[0]


def mean(grid: Grid, row: str, columns: Iterable[str]) -> str:
    """Return the error in percent, the mean over columns, to one place."""
    errors = [grid.entries[row, column].summary().mean for column in columns]
    return f"{100 * sum(errors) / len(errors):.1f}"


def measured(condition: str, method: str, kind: str, what: str = "error") -> str:
    """Return what `benchmarks/conditions.py` measured, in percent, to one place."""
    return f"{100 * MEASURED[condition][method][kind][what]:.1f}"


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def on_record(grids: dict[str, Grid]) -> list[str]:
    """Return the rows of the table of when it helps, as they must begin."""
    c, digits = grids["cifar10-c"], grids["digits"]
    mnist = mean(digits, "Tent 10 epochs", ["MNIST"])
    chance = [mean(digits, row, ["MNIST→SVHN"]) for row in METHODS]
    clean = [measured("batches of 128", row, "clean") for row in ("source", "BN", "Tent")]
    fog = measured("batches of 128", "source", "fog")
    ordered = [measured("sorted by class", row, "fog") for row in ("BN", "Tent")]
    return [
        line("15 corruptions, severity 5, their mean", *(mean(c, row, BENCHMARK) for row in METHODS)),
        line("of these contrast", *(mean(c, row, ["contrast"]) for row in METHODS)),
        line("of these JPEG compression", *(mean(c, row, ["jpeg_compression"]) for row in METHODS)),
        line("of these brightness", *(mean(c, row, ["brightness"]) for row in METHODS)),
        line("of these elastic transform", *(mean(c, row, ["elastic_transform"]) for row in METHODS)),
        line(
            "the 15 corruptions on photographs of ImageNet, their mean",
            *(mean(grids["imagenet-val5k-c"], row, BENCHMARK) for row in METHODS),
        ),
        line(
            "photographs to paintings, cartoons and sketches, their mean",
            *(mean(grids["pacs"], row, DRAWINGS) for row in METHODS),
            f"helps; {mean(grids['pacs'], 'Tent offline on all but the classifier', DRAWINGS)} by all layers",
        ),
        line(
            "digits, from SVHN to MNIST",
            *(mean(digits, row, ["MNIST"]) for row in METHODS),
            f"helps; {mnist} after ten",
        ),
        line("digits, from MNIST to SVHN", *chance),
        line("clean images, as in training", *clean),
        line("fog, **sorted by class**", fog, *ordered),
        line(
            "four corruptions, **one image at a time**",
            mean(c, "Source", FAMILIES),
            "",
            mean(grids["ablation"], "batch 1", FAMILIES),
        ),
    ]


@pytest.mark.parametrize("name", ["README.md", "docs/decide.md"])
def test_when_it_helps_and_when_it_hurts(name: str, grids: dict[str, Grid]) -> None:
    text = page(name)
    missing = [row for row in on_record(grids) if row.removesuffix(" |") not in text]
    assert missing == []


def test_with_tent_the_wider_model_is_better_than_as_trained_on_every_type(grids: dict[str, Grid]) -> None:
    def error(row: str, kind: str) -> float:
        return grids["models"].entries["R-26, width 2", f"CIFAR-10-C, {row}, {kind}"].summary().mean

    assert [kind for kind in BENCHMARK if error("Tent", kind) >= error("Source", kind)] == []
    for kind in ("brightness", "jpeg_compression"):
        source, tent = (f"{100 * error(row, kind):.1f}" for row in ("Source", "Tent"))
        assert f"{tent} instead of {source}%" in page("docs/decide.md")


def test_the_rates_are_those_of_the_ablation(grids: dict[str, Grid]) -> None:
    rates = ("0.0001", "0.0003", "0.001", "0.003", "0.01")
    found = [mean(grids["ablation"], f"learning rate {rate}", FAMILIES) for rate in rates]
    assert line("mean error of four types (%)", *found) in page("docs/choosing.md")
    assert line("Adam's rate", *rates) in page("docs/choosing.md")


def test_batch_sizes_are_those_of_the_ablation(grids: dict[str, Grid]) -> None:
    found = [mean(grids["ablation"], f"batch {size}", FAMILIES) for size in (1, 8, 32, 128, 500)]
    assert line("the batch's statistics", *found) in page("docs/streams.md")


def test_conditions_are_as_measured() -> None:
    text = page("docs/streams.md")
    for condition, methods in MEASURED.items():
        for method, kinds in methods.items():
            if condition not in ("batches of 128", "sorted by class", "batches of 16", "single images"):
                continue
            row = line(condition, method, *(measured(condition, method, kind) for kind in kinds))
            assert row in text, row


@pytest.mark.parametrize(
    ("model", "condition"),
    [("r26-cifar10", "held-out types"), (demo.MODEL, "held-out types, the demo's model")],
)
def test_the_demos_rate_is_the_best_on_the_held_out_types(model: str, condition: str) -> None:
    errors = {name: sum(each["error"] for each in kinds.values()) / 4 for name, kinds in MEASURED[condition].items()}
    best = min(errors, key=lambda name: errors[name])
    assert best == f"Tent, lr {demo.LR:g}"
    cells = [f"**{100 * error:.1f}**" if name == best else f"{100 * error:.1f}" for name, error in errors.items()]
    assert line(f"`{model}`", *cells) in page("docs/choosing.md")


def test_what_a_prior_gains_is_as_measured() -> None:
    plain, prior = (measured("batches of 16", method, "fog") for method in ("Tent", "Tent, Prior(16)"))
    assert f"in batches of 16 it takes fog from {plain} to {prior}%." in page("README.md")


def test_signs_are_as_measured() -> None:
    text, shuffled = page("docs/choosing.md"), "batches of 128"
    shown = ((shuffled, "source"), (shuffled, "Tent"), (shuffled, "Tent, lr 0.01"), ("sorted by class", "Tent"))
    for condition, method in shown:
        own = MEASURED[condition][method]["fog"]
        row = line(f"{condition}, {method}", f"{own['entropy']:.2f}", f"{own['most']:.0%}", f"{own['error']:.1%}")
        assert row in text, row
    for kind in ("clean", "gaussian_noise", "fog", "jpeg_compression"):
        both = [MEASURED[shuffled][method][kind] for method in ("source", "BN")]
        cells = [f"{each['entropy']:.2f}" for each in both] + [f"{each['error']:.1%}" for each in both]
        assert f" {line(*cells)[2:]}" in text, kind


def test_how_often_entropy_points_the_right_way(grids: dict[str, Grid]) -> None:
    right, wrong = [], []
    for suite in ("cifar10-c", "digits"):
        for column in SUITES[suite].columns:
            first = [grids[suite].entries[row, column].results[0] for row in ("Source", "BN")]
            source, bn = (result.metrics for result in first)
            agrees = (bn["entropy"] < source["entropy"]) == (bn["error"] < source["error"])
            (right if agrees else wrong).append(column)
    assert (len(right), wrong) == (15, ["snow", "pixelate", "MNIST", "USPS"])
    assert "On the 19 streams" in (text := page("docs/choosing.md"))
    lost = [
        grids["digits"].entries["BN", c].summary().mean - grids["digits"].entries["Source", c].summary().mean
        for c in wrong[2:]
    ]
    assert "loses {:.1f} and {:.1f} points".format(*(100 * each for each in lost)) in text
    assert "points the right way 15 times" in text


STREAMS = ("continual", "mixed", "correlated")  # suites, 500 images of each type, three orders


def test_the_table_of_hard_streams_is_that_of_the_store() -> None:
    results = stored()
    grids = [read_grid(SUITES[name], results, Query(seeds=(0, 1, 2), limit=500)) for name in STREAMS]
    due = [line(f"`{row}`", *(stream_mean(grid, row) for grid in grids)) for row in grids[0].rows]
    assert [row for row in due if row.removesuffix(" |") not in page("docs/methods.md")] == []


def test_longer_bursts_are_those_of_the_store() -> None:
    grid = first_order("correlated", 2000)
    found = ", ".join(
        f"{row if row != 'Source' else 'source'} {mean(grid, row, BENCHMARK)}"
        for row in ("LAME", "Source", "ROID", "Tent", "BN")
    )
    assert f"the order is the published one: {found}." in page("docs/methods.md")


def first_order(name: str, limit: int | None, model: str | None = None) -> Grid:
    """Return a suite's results in the first order alone."""
    suite = SUITES[name] if model is None else SUITES[name].with_model(model)
    return read_grid(suite, stored(), Query(seeds=(0,), limit=limit))


def test_longer_streams_are_those_of_the_store() -> None:
    for limit, images in ((500, "500"), (2000, "2,000"), (None, "10,000")):
        grid = first_order("continual", limit)
        updates = f"{grid.entries['Tent', 'fog'].results[0].counts['updates']:,}"
        cells = [mean(grid, row, BENCHMARK) for row in ("Source", "BN", "Tent", "EATA", "ROID")]
        assert line(images, updates, *cells) in page("docs/methods.md")


@pytest.mark.parametrize(
    ("name", "limit", "model", "rows"),
    [
        ("correlated", 500, "r26-gn-cifar10", ("Source", "Tent", "EATA", "SAR", "ROID", "LAME")),
        ("cifar100-c-continual", 500, None, ("Source", "BN", "Tent", "EATA", "SAR", "ROID", "LAME")),
        ("continual", 100, "densenet-cifar10", ("Source", "BN", "Tent", "EATA", "ROID")),
    ],
)
def test_other_networks_on_hard_streams_are_those_of_the_store(
    name: str, limit: int, model: str | None, rows: list[str]
) -> None:
    grid = first_order(name, limit, model)
    errors = [mean(grid, row, BENCHMARK) for row in rows]
    assert line(f"{limit} images of each type", *errors) in page("docs/methods.md")


def test_a_stream_that_does_not_wait_is_that_of_the_store() -> None:
    text, rows = page("docs/methods.md"), ("BN", "Tent", "ETA", "SAR", "DeYO", "SHOT", "ROID")
    for name, title in (("speed", "as fast as plain answers"), ("continual", "that waits")):
        assert line(title, *(mean(first_order(name, 500), row, BENCHMARK) for row in rows)) in text
    fast, slow = (
        first_order(name, 500).entries["Tent", "fog"].results[0].counts["updates"] for name in ("speed", "continual")
    )
    assert f"It learns {fast} times in place of {slow}." in text
    assert f"`speed` has its answers ({mean(first_order('speed', 500), 'CoTTA', BENCHMARK)})" in text


def test_single_images_are_those_of_the_store() -> None:
    grid = first_order("single", 100)
    rows = {  # as they are called on the page: of the network as shipped, and with group norms, which has no statistics
        "Source": ("Source", "Source, group norm"),
        "BN, prior 16": ("BN, prior 16", ""),
        "Tent, prior 16": ("Tent, prior 16", ""),
        "Tent, source statistics": ("Tent, source statistics", "Tent, group norm"),
        "SAR, source statistics": ("SAR, source statistics", "SAR, group norm"),
        "MEMO, episodic": ("MEMO", "MEMO, group norm"),
    }
    assert {row for both in rows.values() for row in both if row} == set(grid.rows)
    for name, both in rows.items():
        cells = [mean(grid, row, BENCHMARK) if row else "" for row in both]
        assert line(name, *cells).replace("|  |", "| |") in page("docs/methods.md"), name
    resets = grid.entries["SAR, source statistics", "fog"].results[0].counts["resets"]
    assert f"the source {resets} times" in page("docs/methods.md")


def stream_mean(grid: Grid, row: str) -> str:
    """Return the mean over the types and the three orders, all of which were run."""
    assert all(not grid.entries[row, column].missing_seeds for column in BENCHMARK), row
    return mean(grid, row, BENCHMARK)


SCENES = {  # rows of the suite, what the page calls them, and the paper's figures
    "Source": ("Source", "28.8"),
    "BN": ("BN", "31.4"),
    "PL": ("PL", ""),
    "Tent": ("Tent", ""),
    "Tent offline": ("Tent offline", "35.8"),
    "BN, single images": ("BN, single images", ""),
    "Tent episodic 1": ("Tent episodic, 1 iteration", ""),
    "Tent episodic 5": ("Tent episodic, 5 iterations", ""),
    "Tent episodic 10": ("Tent episodic, 10 iterations", "36.4"),
}


def scene_metrics(limit: int | None = None, seed: int = 0) -> dict[str, dict[str, float]]:
    """Return the metrics of street scenes, in percent, by row."""
    grid = read_grid(SUITES["segmentation"], stored(), Query(seeds=(seed,), limit=limit))
    found = {row: grid.entries[row, "Cityscapes"].results[seed].metrics for row in grid.rows}
    return {row: {name: 100 * value for name, value in own.items()} for row, own in found.items()}


def test_street_scenes_are_those_of_the_store() -> None:
    found, text = scene_metrics(), page("docs/segmentation.md")
    assert set(found) == set(SCENES)
    for row, (title, paper) in SCENES.items():
        numbers = [f"{found[row][metric]:.1f}" for metric in ("mean_iou", "pixel_accuracy", "iou_0")]
        assert line(title, *numbers, paper).replace("|  |", "| |") in text
    lost = {row: f"{100 - own['mean_iou']:.1f}" for row, own in found.items()}
    beginning = "street scenes from CARLA to Cityscapes, by 100 − [mIoU](docs/segmentation.md)"
    assert line(beginning, *(lost[row] for row in METHODS)).removesuffix(" |") in page("README.md")
    assert f"{lost['Tent episodic 10']} on single images" in page("README.md")


def test_the_spread_of_street_scenes_is_that_of_three_samples() -> None:
    samples = [{row: own["mean_iou"] for row, own in scene_metrics(64, seed).items()} for seed in (0, 1, 2)]
    pairs = (("Tent", "BN"), ("Tent offline", "BN"), ("Tent episodic 10", "BN, single images"))
    gains = ["{:.1f}, {:.1f} and {:.1f}".format(*(own[row] - own[base] for own in samples)) for row, base in pairs]
    due = f"gains {gains[0]} points on BN online, {gains[1]} offline, and in ten iterations on single images {gains[2]}"
    assert due in " ".join(page("docs/segmentation.md").split())


def test_episodes_cost_what_was_measured() -> None:
    text = page("docs/segmentation.md")
    for name, found in EPISODES.items():
        network, image, what = name.split(", ", 2)
        times = f"{found['episode'] / found['inference']:.0f}" if "episode" in found else ""
        row = line(f"`{network}`", image.replace("x", "×"), what, times, f"{found['peak'] / 1e9:.1f} GB")
        assert row.replace("|  |", "| |") in text, row
    assert all(found["peak"] < 6e9 for name, found in EPISODES.items() if "2048x1024" in name)
