"""Batches too small for statistics of their own: said once, refused where nothing could come of it."""

import warnings

import pytest
import torch
from toys import batches, made

import tent
from tent import norm

ADVICE = r"pass stats=tent\.norm\.Prior\(samples=4\), or bring batches of 64 or more"


@pytest.mark.parametrize("method", [tent.Tent(), tent.BN(), tent.PL()])
def test_a_small_batch_is_said_once(method: tent.Method) -> None:
    adapted = tent.adapt(made("conv"), method)
    adapted(batches(1, size=4)[0])
    with pytest.warns(RuntimeWarning, match=rf"1 sample in a batch: .* spoils the answers; {ADVICE}"):
        adapted(batches(1, size=1)[0])
    adapted(batches(1, size=1)[0])  # warnings are errors here


def test_it_is_said_of_fit_and_of_a_pause_too() -> None:
    with pytest.warns(RuntimeWarning, match="2 samples"):
        tent.adapt(made("conv")).fit(batches(3, size=2))
    adapted = tent.adapt(made("conv"))
    with adapted.paused(), pytest.warns(RuntimeWarning, match="2 samples"):
        adapted(batches(1, size=2)[0])


@pytest.mark.parametrize("stats", [norm.Batch(), norm.Prior(16), norm.Running(0.1), norm.Source()])
def test_what_the_caller_chose_is_respected(stats: norm.Stats) -> None:
    tent.adapt(made("conv"), stats=stats)(batches(1, size=1)[0])
    tent.adapt(made("conv"), stats=stats, episodic=True, steps=2)(batches(1, size=1)[0])


def test_a_stream_of_single_images_is_refused_when_each_is_by_itself() -> None:
    adapted, x = tent.adapt(made("conv"), episodic=True, steps=2), batches(1, size=1)[0]
    with pytest.raises(ValueError, match=rf"1 sample in a batch: .* the same answer; {ADVICE}"):
        adapted(x)
    assert adapted.updates == 0
    adapted(batches(1)[0])
    with pytest.warns(RuntimeWarning, match="1 sample in a batch"):
        adapted(x)  # the rest of a stream is answered


def test_where_size_does_not_matter_nothing_is_said() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tent.adapt(made("residual"))(batches(1, size=1)[0])  # every pixel is a sample
        net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LayerNorm(192), torch.nn.Linear(192, 3))
        tent.adapt(net)(batches(1, size=1)[0])
        tent.adapt(made("conv"), tent.Source())(batches(1, size=1)[0])


def test_one_value_a_channel_is_refused() -> None:
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 3)).eval()
    with pytest.raises(ValueError, match="one value a channel"):
        tent.adapt(net)(torch.randn(1, 3))
