"""Streams of several domains, in any order, reset or not: what a plain loop over the same batches gives."""

from dataclasses import replace
from pathlib import Path

import pytest
import tiny

import tent
from tent.bench.case import Case, Data
from tent.bench.execute.inputs import build_stream, count_images, load_entry, pin_case
from tent.bench.execute.run_case import run_case
from tent.data.stream import Stream

LR = 0.1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny.laid_out(tmp_path)


def both(folder: Path, **options: object) -> Case:
    data = (*tiny.case(folder, "dark").data, *tiny.case(folder, "bright").data)
    return tiny.case(folder, data=data, lr=LR, **options)


def stream(case: Case) -> Stream:
    return build_stream(case, case.data, load_entry(case.model))


def by_hand(case: Case, reset: str) -> dict[str, float]:
    """The metrics of a loop that resets by itself."""
    adapted, logits, labels, last = tent.adapt(load_entry(case.model).model, lr=LR), [], [], None
    for x, y, domain in stream(case):
        if reset == "domain" and domain != last:
            adapted.reset()
        last = domain
        logits.append(adapted(x).numpy())
        labels.append(y)
    return tiny.measure(logits, labels)


@pytest.mark.parametrize("reset", ["never", "domain"])
@pytest.mark.parametrize("domains", ["sequence", "recurring:2"])
@pytest.mark.parametrize("order", ["shuffled", "stored", "sorted", "correlated:0.1"])
def test_domains_one_after_another(folder: Path, reset: str, domains: str, order: str) -> None:
    case = both(folder, reset=reset, domains=domains, order=order)
    result = run_case(case)
    assert result.metrics == by_hand(case, reset)
    assert list(result.by_domain) == [each.label for each in case.data]
    assert result.images == count_images(case) == 48 * 2 * (2 if domains != "sequence" else 1)
    mean = sum(own["error"] for own in result.by_domain.values()) / 2
    assert result.metrics["error"] == pytest.approx(mean)


def test_what_is_reset_between_domains_is_what_each_gives_alone(folder: Path) -> None:
    together = run_case(both(folder, reset="domain"))
    alone = [run_case(tiny.case(folder, name, lr=LR)).metrics for name in tiny.COLUMNS]
    assert list(together.by_domain.values()) == alone
    continual = run_case(both(folder))
    first, second = continual.by_domain.values()
    assert first == alone[0]
    assert second != alone[1]
    assert "reset" in continual.protocol
    assert together.protocol["reset"] == "before every new domain"


def test_a_mixture_is_shuffled_and_each_stream_is_cut_to_its_first_images(folder: Path) -> None:
    case = both(folder, domains="mixed", images=20)
    result = run_case(case)
    assert result.images == count_images(case) == 40
    assert [len(values) for values in result.by_batch.values()] == [3] * 4
    assert result.metrics == by_hand(case, "never")
    assert result.metrics != run_case(replace(case, seed=1)).metrics


def test_every_order_and_arrangement_is_a_case_of_its_own(folder: Path) -> None:
    cases = [
        both(folder, domains=domains, order=order, reset=reset, answers="after")
        for domains in ("sequence", "mixed", "recurring:2", "recurring:3")
        for order in ("shuffled", "stored", "sorted", "correlated:0.1", "correlated:1")
        for reset in ("never", "domain", "batch")
    ]
    assert len({pin_case(case).key() for case in cases}) == len(cases)


@pytest.mark.parametrize(
    ("changes", "forwards", "backwards"),
    [
        ({"method": "source"}, 48, 0),
        ({"method": "bn", "when": "offline"}, 96, 0),
        ({}, 48, 48),
        ({"steps": 3}, 144, 144),
        ({"epochs": 3}, 144, 144),
        ({"answers": "after"}, 96, 48),
        ({"when": "offline", "epochs": 2}, 144, 96),
        ({"reset": "batch", "answers": "after"}, 96, 48),
        ({"method": "oracle"}, 48, 48),
    ],
)
def test_a_result_counts_what_went_through_the_model(
    folder: Path, changes: dict[str, object], forwards: int, backwards: int
) -> None:
    counts = run_case(tiny.case(folder, **changes)).counts
    assert (counts["forwards"], counts["backwards"]) == (forwards, backwards)
    assert counts["skipped"] == 0


def test_domains_that_differ_in_split_or_size_have_two_names(folder: Path) -> None:
    assert Data("mnist").label == "mnist"
    assert Data("cifar10-c", corruption="fog", severity=5, part=(0, 5)).label == "cifar10-c fog 5 (0, 5)"
    assert Data("usps", "train", size=32).label == "usps train 32x32"
    (data,) = tiny.case(folder).data
    case = tiny.case(folder, data=(data, replace(data, size=12)))
    assert stream(case).domains == (data.label, f"{data.label} 12x12")


def test_a_domain_that_comes_again_is_the_same(folder: Path) -> None:
    (data,) = tiny.case(folder).data
    first, second = replace(data, part=(0, 24)), replace(data, part=(24, 48))
    assert stream(tiny.case(folder, data=(first, second, first))).domains == (first.label, second.label)
