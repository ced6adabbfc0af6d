"""Methods with views in the bench room: told how inputs are normalised, and drawing on when recalled."""

from pathlib import Path

import torch
from toys import made

import tent
from tent.apps.adapt import Job
from tent.apps.adapt_run import Notices
from tent.apps.run_data import DataChoice
from tent.bench.case import Case, Data
from tent.bench.execute.adapted_cache import AdaptedCache
from tent.bench.execute.build import build_adapted
from tent.data.preprocess import Preprocess
from tent.data.samples import Samples
from tent.data.stream import Stream
from tent.models.entry import Entry

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.2, 0.2)
ENTRY = Entry("toy", made("conv"), Preprocess(mean=MEAN, std=STD))


def case(method: str, **options: object) -> Case:
    return Case("r26-cifar10", (Data("cifar10"),), method=method, when="offline", options=options)


def test_a_case_tells_its_method_how_inputs_are_normalised() -> None:
    adapted = build_adapted(case("cotta", views=2), ENTRY)
    assert adapted.method == tent.CoTTA(views=2, pixels=tent.Pixels(MEAN, STD))
    assert build_adapted(case("tent"), ENTRY).method == tent.Tent()


def test_a_run_tells_its_method_how_inputs_are_normalised(tmp_path: Path) -> None:
    job = Job("toy", DataChoice("photos"), method=tent.ROID(), out=tmp_path, stats=tent.norm.Batch())
    stream = Stream(Samples([(torch.zeros(3, 8, 8), 0)] * 64), 64)
    adapted = job._adapt(ENTRY, stream, Notices(print), pixels=False)
    assert adapted.method == tent.ROID(pixels=tent.Pixels(MEAN, STD))


def test_what_is_recalled_answers_with_the_draws_of_what_was_kept(tmp_path: Path) -> None:
    chosen, x = case("cotta", views=2, threshold=1.1), torch.rand(4, 3, 8, 8)
    learnt, recalled = (build_adapted(chosen, ENTRY) for _ in range(2))
    learnt.fit([x, x, x])
    cache = AdaptedCache(tmp_path / "cache")
    cache.keep(chosen, learnt, 1.0)
    assert cache.recall(chosen, recalled) == 1.0
    with learnt.paused(), recalled.paused():
        assert torch.equal(learnt(x), recalled(x))
