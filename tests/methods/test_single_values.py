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


class KeepsOne(nn.Module):
    """Certain of the first image of a batch alone, behind a batch norm of 1×1 maps."""

    def __init__(self) -> None:
        super().__init__()
        self.body = net()[:-1]  # type: ignore[index]
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = self.head(self.body(x)) * 0.01
        sure = torch.zeros_like(logits)
        sure[0, 0] = 50.0
        return logits + sure


@pytest.mark.parametrize("method", [tent.DeYO(), tent.ROID(), tent.CMF()], ids=lambda method: type(method).__name__)
def test_a_batch_of_which_one_image_is_kept_is_answered(method: tent.Method) -> None:
    x = torch.rand(8, 3, 8, 8)
    adapted = tent.adapt(KeepsOne().eval(), method, select=tent.select.norm_affine)
    answers = [adapted(x) for _ in range(3)]
    assert all(bool(each.isfinite().all()) for each in answers)
    assert adapted.state.counts.skipped == 0


@pytest.mark.parametrize("method", [tent.SAR(), tent.CMF(), tent.ROID(), tent.ETA()], ids=lambda m: type(m).__name__)
def test_nothing_to_move_is_no_error(method: tent.Method) -> None:
    bare = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8, affine=False), nn.Flatten(), nn.Linear(288, 5)).eval()
    x = torch.rand(8, 3, 8, 8)
    assert torch.equal(tent.adapt(bare, method)(x).argmax(1), tent.adapt(bare, tent.BN())(x).argmax(1))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tent.SAR(margin=-1), "SAR margin must be 0 or more, got -1"),
        (lambda: tent.SAR(momentum=7), r"SAR momentum must be in \[0, 1\], got 7"),
        (lambda: tent.RDumb(margin=-1), "RDumb margin must be 0 or more, got -1"),
        (lambda: tent.ETA(redundancy=-0.1), "ETA redundancy must be 0 or more, got -0.1"),
        (lambda: tent.EATA(alpha=-1.0), "EATA alpha must be 0 or more, got -1.0"),
        (lambda: tent.DeYO(parts=0), "DeYO parts must be a whole number from 1 on, got 0"),
        (lambda: tent.MEMO(views=2.5), "MEMO views must be a whole number from 1 on, got 2.5"),  # type: ignore[arg-type]
    ],
)
def test_wrong_options_are_refused(make, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=said):
        make()


def test_what_views_cannot_be_made_of_is_refused_at_once() -> None:
    normalised = torch.randn(8, 3, 8, 8) * 3
    for method in (tent.CoTTA(threshold=1e-6), tent.RoTTA(), tent.ROID()):  # sure of all
        with pytest.raises(ValueError, match=r"in \[0, 1\]"):
            tent.adapt(net(), method)(normalised)
    maps = nn.Sequential(nn.Conv2d(3, 5, 1), nn.BatchNorm2d(5)).eval()
    with pytest.raises(ValueError, match="needs one prediction an image"):
        tent.adapt(maps, tent.CoTTA(threshold=1e-6))(torch.rand(2, 3, 8, 8))
    tent.adapt(maps, tent.CoTTA(threshold=0))(torch.rand(2, 3, 8, 8))  # which never makes a view


def test_a_memory_refuses_images_of_another_size() -> None:
    model = nn.Sequential(nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    adapted = tent.adapt(model, tent.RoTTA())
    adapted(torch.rand(8, 3, 8, 8))
    with pytest.raises(ValueError, match=r"holds images of shape \(3, 8, 8\), and was given \(3, 9, 9\); resize"):
        adapted(torch.rand(8, 3, 9, 9))
