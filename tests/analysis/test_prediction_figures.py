"""Figures of predictions: their numbers are those of a plain recomputation on all images at once."""

import math
import pickle

import numpy as np
import pytest
import torch
from analysis_streams import draw_logits, grid, models, observe, stream
from scipy.stats import entropy as scipy_entropy
from scipy.stats import spearmanr

import tent
from tent.analysis import (
    AlongStream,
    Calibration,
    ChangeOfLoss,
    Collector,
    Confusion,
    Domain,
    ErrorByEntropy,
    ErrorByType,
    LossByLevel,
    Movement,
    Numbers,
    analyse,
    predict,
)
from tent.analysis.collectors.along_stream import effective_classes_by_chance
from tent.evaluate import evaluate
from tent.tasks import Classification

IMAGES, CLASSES = 203, 7
LABELS = torch.randint(0, CLASSES, (IMAGES,), generator=torch.Generator().manual_seed(9))
LOGITS = draw_logits(IMAGES, CLASSES)


def plain(name: str) -> dict[str, np.ndarray]:
    """Return a method's probabilities, entropies, losses and mistakes, image by image, without the library."""
    z = LOGITS[name].numpy()
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    y = LABELS.numpy()
    loss = -np.log(p[np.arange(len(y)), y])
    return {"p": p, "entropy": scipy_entropy(p, axis=1), "loss": loss, "wrong": p.argmax(1) != y}


def told(figure: Collector, labels: torch.Tensor | None = LABELS) -> Numbers:
    for seen in observe(LOGITS, labels):
        figure.add(seen)
    return figure.numbers()


def test_bins_of_equal_width_are_those_of_a_plain_recomputation() -> None:
    rows = [row for row in told(ErrorByEntropy(bins=10)).rows if row["bins"] == "equal width"]
    for name in LOGITS:
        own, known = [row for row in rows if row["method"] == name], plain(name)
        edges = np.linspace(0, math.log(CLASSES), 11)
        for row, low, high in zip(own, edges[:-1], edges[1:], strict=True):
            inside = (known["entropy"] >= low) & (known["entropy"] < high)
            assert row["images"] == inside.sum()
            assert row["wrong"] == known["wrong"][inside].sum()
            if inside.any():
                assert row["error"] == pytest.approx(known["wrong"][inside].mean(), abs=1e-6)
                assert row["entropy"] == pytest.approx(known["entropy"][inside].mean(), abs=1e-6)


def test_bins_of_equal_count_are_those_of_a_plain_recomputation() -> None:
    rows = [row for row in told(ErrorByEntropy(bins=10)).rows if row["bins"] == "equal count"]
    for name in LOGITS:
        own, known = [row for row in rows if row["method"] == name], plain(name)
        order = np.array_split(np.argsort(known["entropy"]), 10)
        assert [row["images"] for row in own] == [len(part) for part in order]
        for row, part in zip(own, order, strict=True):
            assert row["error"] == pytest.approx(known["wrong"][part].mean(), abs=1e-6)
            assert row["entropy"] == pytest.approx(known["entropy"][part].mean(), abs=1e-6)
            assert row["low"] == pytest.approx(known["entropy"][part].min(), abs=1e-6)


def test_empty_bins_have_no_error_and_are_said_in_one_line() -> None:
    figure = ErrorByEntropy(bins=50)
    certain = {"Source": torch.eye(CLASSES, dtype=torch.float64).repeat(3, 1) * 50}
    for seen in observe(certain, torch.arange(CLASSES).repeat(3)):
        figure.add(seen)
    numbers = figure.numbers()
    empty = [row for row in numbers.rows if row["bins"] == "equal width" and not row["images"]]
    assert len(empty) == 49
    assert all(row["error"] is None and row["entropy"] is None for row in empty)
    few = "21 of 21 bins of equal count have fewer than 10 images: not drawn"
    assert numbers.notes == ["Source: 49 of 50 bins of equal width are empty", few]
    assert not any("equal count" in note for note in told(ErrorByEntropy(bins=10)).notes)


def test_empty_bins_of_calibration_are_said() -> None:
    figure = Calibration()
    certain = {"Source": torch.eye(CLASSES, dtype=torch.float64).repeat(3, 1) * 50}
    for seen in observe(certain, torch.arange(CLASSES).repeat(3)):
        figure.add(seen)
    assert figure.numbers().notes == ["Source: 14 of 15 bins are empty"]


def test_changes_of_entropy_and_loss_are_those_of_a_plain_recomputation() -> None:
    numbers = told(ChangeOfLoss(bins=8))
    before, after = plain("Source"), plain("Tent")
    change = [(after[name] - before[name]) / math.log(CLASSES) for name in ("entropy", "loss")]
    drawn = [np.clip(part, -1, 1) for part in change]
    counts = np.histogram2d(*drawn, bins=8, range=[[-1, 1], [-1, 1]])[0]
    found = np.zeros((8, 8))
    for row in numbers.rows:
        found[round((row["entropy"] + 1) * 4), round((row["loss"] + 1) * 4)] = row["images"]
    assert np.array_equal(found, counts)
    summary = numbers.summary["Source to Tent"]
    assert summary["rank correlation"] == pytest.approx(spearmanr(*drawn).statistic, abs=1e-6)
    assert summary["before clipping"] == pytest.approx(spearmanr(*change).statistic, abs=1e-6)
    assert summary["lower loss"] == pytest.approx((change[1] < 0).mean(), abs=1e-6)
    assert (np.abs(np.array(change)) > 1).any()  # there is something to clip


def test_calibration_is_that_of_a_plain_recomputation_and_of_the_task() -> None:
    numbers = told(Calibration())
    for name in LOGITS:
        known = plain(name)
        sure, right, ece = known["p"].max(1), ~known["wrong"], 0.0
        for row in (row for row in numbers.rows if row["method"] == name):
            inside = (sure > row["low"]) & (sure <= row["high"])
            assert row["images"] == inside.sum()
            if inside.any():
                assert row["accuracy"] == pytest.approx(right[inside].mean(), abs=1e-6)
                ece += inside.mean() * abs(right[inside].mean() - sure[inside].mean())
        assert numbers.summary[name]["ece"] == pytest.approx(ece, abs=1e-6)
        task = Classification(CLASSES)
        task.update(LOGITS[name], LABELS)
        assert numbers.summary[name]["ece"] == pytest.approx(task.compute()["ece"], abs=1e-9)


def test_confusion_is_that_of_a_plain_recomputation() -> None:
    numbers = told(Confusion())
    found = {(row["class"], row["answer"]): row for row in numbers.rows}
    for name in LOGITS:
        answers = plain(name)["p"].argmax(1)
        for i in range(CLASSES):
            for j in range(CLASSES):
                count = int(((LABELS.numpy() == i) & (answers == j)).sum())
                assert found.get((str(i), str(j)), {name: 0})[name] == count


def test_a_stream_s_points_are_those_of_a_plain_recomputation() -> None:
    rows = [row for row in told(AlongStream()).rows if row["method"] == "Tent"]
    known, first = plain("Tent"), 0
    for row in rows:
        part = slice(first, int(row["images"]))
        first = int(row["images"])
        shares = np.bincount(known["p"][part].argmax(1), minlength=CLASSES) / len(known["loss"][part])
        assert row["entropy"] == pytest.approx(known["entropy"][part].mean(), abs=1e-6)
        assert row["confidence"] == pytest.approx(known["p"][part].max(1).mean(), abs=1e-6)
        assert row["effective classes"] == pytest.approx(math.exp(scipy_entropy(shares)), abs=1e-6)
        assert row["error"] == pytest.approx(known["wrong"][part].mean(), abs=1e-6)
        assert row["commonest"] == pytest.approx(shares.max(), abs=1e-6)
    assert first == IMAGES


def test_few_images_are_not_expected_to_be_answered_with_all_of_many_classes() -> None:
    assert effective_classes_by_chance(100, 128) == pytest.approx(64, abs=2)
    assert effective_classes_by_chance(10, 100_000) == pytest.approx(10, abs=0.01)
    due = effective_classes_by_chance(CLASSES, 16)
    assert told(AlongStream()).summary["effective classes of uniform answers"] == due


def test_a_stream_of_several_domains_says_that_its_running_means_cross_their_ends() -> None:
    streams = {Domain("a"): stream(name="a"), Domain("b"): stream(name="b")}
    (note,) = analyse(models(), streams, [AlongStream()])["stream"].notes
    assert note.startswith("2 domains follow one another, each from the source: running means in the picture")
    assert told(AlongStream()).notes == []


def test_a_long_stream_has_no_more_points_than_are_wanted() -> None:
    numbers = told(AlongStream(most=4))  # of 13 batches
    rows = [row for row in numbers.rows if row["method"] == "Tent"]
    assert len(rows) <= 4
    assert rows[-1]["images"] == IMAGES
    weights = np.diff([0, *(row["images"] for row in rows)])
    mean = np.average([row["entropy"] for row in rows], weights=weights)
    assert mean == pytest.approx(plain("Tent")["entropy"].mean(), abs=1e-6)


def test_means_by_level_and_type_are_those_of_single_runs() -> None:
    streams = grid()
    found = analyse(models(), streams, [LossByLevel(), ErrorByType()])
    alone = {}
    for domain, each in streams.items():
        fresh = models()["Tent"]
        alone[domain] = evaluate(fresh, each, Classification(5)).metrics
    rows = [row for row in found["loss-by-level"].rows if row["method"] == "Tent"]
    for row, (domain, metrics) in zip(rows, alone.items(), strict=True):
        assert (row["type"], row["level"]) == (domain.type, domain.level)
        assert row["loss"] == pytest.approx(metrics["cross_entropy"], abs=1e-6)
        assert row["entropy"] == pytest.approx(metrics["entropy"], abs=1e-6)
    shifted = [m for d, m in alone.items() if not d.original]
    correlation = spearmanr([m["cross_entropy"] for m in shifted], [m["entropy"] for m in shifted]).statistic
    assert found["loss-by-level"].summary["Tent"]["loss and entropy"] == pytest.approx(correlation, abs=1e-6)
    within = []
    for kind in ("fog", "snow"):
        own = [m for d, m in alone.items() if d.original or d.type == kind]
        within.append(spearmanr([m["entropy"] for m in own], range(4)).statistic)
    found_within = found["loss-by-level"].summary["Tent"]["entropy and level, within a type"]
    assert found_within == pytest.approx(np.mean(within), abs=1e-6)
    fog = np.mean([m["error"] for d, m in alone.items() if d.type == "fog"])
    row = next(r for r in found["error-by-type"].rows if (r["method"], r["type"]) == ("Tent", "fog"))
    assert row["error"] == pytest.approx(fog, abs=1e-6)
    snow = np.mean([m["error"] for d, m in alone.items() if d.type == "snow"])
    assert found["error-by-type"].summary["mean error over types"]["Tent"] == pytest.approx((fog + snow) / 2, abs=1e-6)


def test_movement_is_the_way_of_every_parameter() -> None:
    own, domain = models(), Domain("made")
    found = analyse(own, {domain: stream(shift=0.5)}, [Movement()])["movement"]
    params, source = own["Tent"].state.params, own["Tent"].state.source
    assert {row["method"] for row in found.rows} == {"Tent"}
    assert len(found.rows) == len(params)
    for row, (name, tensor) in zip(found.rows, params.items(), strict=True):
        change = (tensor.detach() - source[name]).double()
        assert row["change"] == pytest.approx(float((change**2).mean().sqrt()), abs=1e-6)
        assert row["change"] > 0
    assert [row["depth"] for row in found.rows] == [1, 1, 2, 2]
    assert [row["parameter"] for row in found.rows] == ["γ", "β", "γ", "β"]


def test_only_norm_layers_have_gamma_and_beta() -> None:
    net = models()["Tent"].source
    own = {"Tent": tent.adapt(net, tent.Tent(), select=tent.select.everything, lr=0.1, lean=False)}
    found = analyse(own, {Domain("made"): stream(shift=0.5)}, [Movement()])["movement"]
    names = {(row["layer"], row["parameter"]) for row in found.rows}
    assert {("1", "γ"), ("1", "β"), ("0", "weight"), ("10", "weight"), ("10", "bias")} <= names
    assert {kind for layer, kind in names if layer in ("0", "5", "10")} == {"weight", "bias"}


def test_movement_of_nothing_is_said_in_one_line() -> None:
    still = {name: model for name, model in models().items() if name != "Tent"}
    with pytest.raises(ValueError, match="movement: no parameter moves under Source, BN; analyse a method that"):
        analyse(still, {Domain("made"): stream()}, [Movement()])


def test_without_labels_entropy_stays_and_the_rest_is_refused_in_one_line() -> None:
    domain, bare = Domain("photos"), stream(labelled=False)
    found = analyse(models(), {domain: bare}, [LossByLevel(), AlongStream(), Movement()])
    assert all("loss" not in row and "error" not in row for row in found["loss-by-level"].rows)
    assert all("error" not in row for row in found["stream"].rows)
    with pytest.raises(ValueError, match=r"^calibration, confusion: needs labels, and photos has none; leave it out$"):
        analyse(models(), {domain: bare}, [Calibration(), LossByLevel(), Confusion()])


@pytest.mark.parametrize("kind", [ErrorByEntropy, ChangeOfLoss, Calibration, Confusion])
def test_a_figure_that_is_told_without_labels_says_so(kind: type[Collector]) -> None:
    with pytest.raises(ValueError, match=f"{kind.name} needs labels, and the stream has none"):
        told(kind(), labels=None)


@pytest.mark.parametrize(
    ("logits", "labels", "words"),
    [
        (torch.full((2, 3), float("nan")), None, "2 of 2 images with NaN or Inf"),
        (torch.zeros(2, 3, 4), None, "one class an image"),
        (torch.zeros(2, 3), torch.tensor([0, 3]), "a label is 3; the model answers with 3 classes"),
        (torch.zeros(2, 3), torch.tensor([-1, 0]), "a label is -1"),
        (torch.zeros(2, 3), torch.tensor([0]), r"labels of shape \(1,\)"),
    ],
)
def test_what_cannot_be_counted_is_said(logits: torch.Tensor, labels: torch.Tensor | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        predict(logits, labels)


def test_every_method_answers_as_it_does_alone_and_starts_every_domain_from_the_source() -> None:
    streams = {Domain("a"): stream(name="a", shift=0.4), Domain("b"): stream(name="b", shift=0.8)}
    rows = analyse(models(), streams, [LossByLevel()])["loss-by-level"].rows
    for name, model in models().items():
        last = evaluate(model, streams[Domain("b")], Classification(5)).metrics
        row = next(row for row in rows if (row["method"], row["type"]) == (name, "b"))
        assert row["loss"] == pytest.approx(last["cross_entropy"], abs=1e-9)


def test_what_figures_keep_does_not_grow_with_the_images() -> None:
    figures: list[Collector] = [
        *(ErrorByEntropy(most=500), ChangeOfLoss(most=500), Calibration(), Confusion()),
        *(LossByLevel(), ErrorByType(), AlongStream(most=8)),
    ]
    sizes = []
    for _ in range(8):
        for seen in observe(LOGITS, LABELS, size=50):
            for figure in figures:
                figure.add(seen)
        for figure in figures:
            figure.numbers()
        sizes.append(len(pickle.dumps(figures)))
    assert sizes[-1] <= 1.02 * sizes[2]  # of 2.7 times as many images


@pytest.mark.parametrize("labelled", [True, False])
def test_original_data_and_stream_need_not_both_have_labels(labelled: bool) -> None:
    streams = {
        Domain("original", level=0, original=True): stream(labelled=not labelled, name="original"),
        Domain("photos"): stream(labelled=labelled, name="photos", shift=0.5),
    }
    figures: list[Collector] = [LossByLevel(), *([ErrorByType()] if labelled else [])]
    found = analyse(models(), streams, figures)
    assert [row["type"] for row in found["loss-by-level"].rows if row["method"] == "BN"] == ["original", "photos"]
    bare = "original" if labelled else "photos"
    for row in found["loss-by-level"].rows:
        assert (row["loss"] is None) == (row["error"] is None) == (row["type"] == bare)
    assert found["loss-by-level"].notes == [f"{bare} without labels: no loss and no error of it"]
    if labelled:
        assert {row["type"] for row in found["error-by-type"].rows} == {"photos"}


def test_data_that_are_called_original_are_not_mixed_with_the_original_data() -> None:
    streams = {Domain("original", level=0, original=True): stream(total=20), Domain("original"): stream(shift=1.0)}
    found = analyse(models(), streams, [ErrorByType(), LossByLevel()])
    by_type, by_level = (
        {(row["method"], row["original"]): (row["images"], row["error"]) for row in found[name].rows}
        for name in ("error-by-type", "loss-by-level")
    )
    assert by_type == by_level


def test_loss_is_ranked_without_original_data_that_have_no_labels() -> None:
    streams = grid()
    streams[Domain("original", level=0, original=True)] = stream(labelled=False, name="original")
    found = analyse(models(), streams, [LossByLevel()])["loss-by-level"].summary["Tent"]
    whole = analyse(models(), grid(), [LossByLevel()])["loss-by-level"].summary["Tent"]
    assert found["loss and entropy"] == whole["loss and entropy"]
    assert found["entropy and level, within a type"] == whole["entropy and level, within a type"]
    assert -1 <= found["loss and level, within a type"] <= 1


def test_classes_of_one_name_are_told_apart_by_their_numbers() -> None:
    names = ["crane", "dog", "crane", "cat", "owl", "fox", "hen"]
    numbers = told(Confusion(names))
    assert numbers.summary["classes"] == ["crane (0)", "dog", "crane (2)", "cat", "owl", "fox", "hen"]
    found = {(row["class"], row["answer"]): row["Tent"] for row in numbers.rows}
    assert sum(found.values()) == IMAGES
    plainly = {(row["class"], row["answer"]): row["Tent"] for row in told(Confusion()).rows}
    assert found["crane (2)", "crane (0)"] == plainly["2", "0"]


def test_a_change_of_one_method_is_refused_in_one_line() -> None:
    alone = {"Source": models()["Source"]}
    with pytest.raises(ValueError, match="change-of-loss: compares two methods, and was told of one or none"):
        analyse(alone, {Domain("made"): stream()}, [ChangeOfLoss()])


def test_answers_that_are_no_numbers_are_said_with_method_and_domain() -> None:
    own = {"Source": models()["Source"]}
    with torch.no_grad():
        own["Source"].source[-1].weight.fill_(float("nan"))
    with pytest.raises(ValueError, match=r"^Source on fog 1: the model answered 10 of 10 images with NaN"):
        analyse(own, {Domain("fog 1", "fog", 1): stream()}, [Calibration()])


def test_a_figure_of_shifted_data_is_refused_where_there_are_only_original_ones() -> None:
    original = {Domain("original", level=0, original=True): stream()}
    with pytest.raises(
        ValueError, match=r"^calibration: is of shifted data, and only the original data are given; add"
    ):
        analyse(models(), original, [Calibration(), ErrorByType()])
    assert analyse(models(), original, [ErrorByType()])["error-by-type"].rows
