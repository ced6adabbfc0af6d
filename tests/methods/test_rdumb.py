"""RDumb against ETA's equations and a reset by hand."""

import pytest
import torch
from equations import compare, lively, stream
from test_eata import OPTIONS, PlainETA
from torch import Tensor
from toys import batches, made

import tent


class PlainRDumb(PlainETA):
    """Press et al. 2023: ETA, begun anew every so many steps."""

    every = 2

    def step(self, x: Tensor) -> Tensor:
        if self.counts and len(self.counts) % self.every == 0:
            self.reset()
            self.mean = None
        return super().step(x)


def test_rdumb_is_eta_begun_anew() -> None:
    model, batches = lively("group-norm-two-heads"), stream(7)
    adapted, plain = tent.adapt(model, tent.RDumb(**OPTIONS, every=2)), PlainRDumb(model)
    for i, x in enumerate(batches, 1):
        compare_answers(adapted, plain, x)
        assert adapted.state.counts.resets == i // 2
    compare(tent.adapt(model, tent.RDumb(**OPTIONS, every=9)), PlainETA(model), batches)


def compare_answers(adapted: tent.Adapted, plain: PlainETA, x: Tensor) -> None:
    assert torch.allclose(adapted(x), plain.step(x), rtol=0, atol=1e-9)


def test_a_round_is_a_number_of_steps_also_where_nothing_is_kept_or_a_batch_is_skipped() -> None:
    adapted = tent.adapt(made("conv"), tent.RDumb(margin=0.01, every=3))
    for x in batches(4):
        adapted(x)
    assert (adapted.state.counts.resets, adapted.state.step) == (1, 1)
    with pytest.warns(RuntimeWarning, match="skipped"):
        adapted(batches(1)[0] * torch.nan)
    assert adapted.state.step == 1


def test_every_is_a_whole_number() -> None:
    for every in (0, 1.5):
        with pytest.raises(ValueError, match=f"RDumb every must be a whole number from 1 on, got {every}"):
            tent.RDumb(every=every)
    assert tent.RDumb().every == 1000
    assert isinstance(tent.RDumb.for_imagenet(), tent.RDumb)
