"""Methods that normalise by the batch refuse a batch that has no statistics, and take it with a prior."""

import pytest
import torch
from torch import nn

import tent
from tent import norm

METHODS = [tent.ETA(), tent.EATA(), tent.RDumb(), tent.SAR(), tent.DeYO(), tent.SHOT()]


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 8), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8, 5)).eval()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_one_value_a_channel_is_refused_without_a_prior(method: tent.Method) -> None:
    x, images = torch.randn(1, 3, 8, 8), torch.randn(8, 3, 8, 8)
    adapted = tent.adapt(net(), method).prepare([images])
    with pytest.raises(ValueError, match=r"one value a channel.*stats=tent.norm.Prior\(16\)") as caught:
        adapted(x)
    assert "\n" not in str(caught.value)
    adapted = tent.adapt(net(), method, stats=norm.Prior(16)).prepare([images])
    assert bool(adapted(x).isfinite().all())


@pytest.mark.parametrize("method", [tent.LAME(), tent.T3A()], ids=lambda method: type(method).__name__)
def test_methods_by_source_statistics_take_single_images(method: tent.Method) -> None:
    assert tent.adapt(net(), method)(torch.randn(1, 3, 8, 8)).shape == (1, 5)
