"""Which layers features are of: channels on the right axis, layers that run, and methods that answer in one pass."""

import numpy as np
import pytest
import torch
from analysis_streams import stream
from torch import Tensor, nn
from toys import Photograph, made

import tent
from tent.analysis import compare_features
from tent.analysis.features.capture import channel_means
from tent.analysis.features.channels import Density, Moments, frechet_distance
from tent.analysis.features.feature_shift import find_pass_mismatch, list_layers


class LayerNorm2d(nn.LayerNorm):
    """As in torchvision: over the channels of maps."""


@pytest.mark.parametrize(
    ("module", "shape", "axis"),
    [
        (nn.BatchNorm1d(5), (4, 5, 9), 1),
        (nn.BatchNorm1d(5), (4, 5), 1),
        (nn.BatchNorm2d(5), (4, 5, 3, 5), 1),
        (nn.GroupNorm(1, 5), (4, 5, 9), 1),
        (nn.InstanceNorm1d(5, affine=True), (4, 5, 9), 1),
        (nn.LayerNorm(5), (4, 3, 3, 5), 3),
        (nn.LayerNorm(5), (4, 9, 5), 2),
        (nn.LayerNorm(5), (4, 5, 3, 5), 3),
        (nn.RMSNorm(5), (4, 5, 3, 5), 3),
        (LayerNorm2d(5), (4, 5, 3, 3), 1),
        (LayerNorm2d(5), (4, 5, 5, 5), 1),
        (nn.LayerNorm((5, 3, 3)), (4, 5, 3, 3), 1),
        (nn.Linear(2, 5), (4, 3, 3, 5), 3),
        (nn.Conv1d(2, 5, 1), (4, 5, 9), 1),
        (nn.Identity(), (4, 9, 5), 2),
        (None, (4, 5, 3, 3), 1),
    ],
)
def test_channels_are_on_the_axis_that_the_layer_has_them_on(
    module: nn.Module | None, shape: tuple[int, ...], axis: int
) -> None:
    x = torch.randn(shape)
    others = [place for place in range(1, x.dim()) if place != axis]
    due = x.double().mean(others) if others else x.double()
    assert torch.allclose(channel_means(x, module), due)


def test_a_channel_that_is_constant_but_for_rounding_has_no_part_in_a_distance() -> None:
    generator = np.random.default_rng(0)
    clean, shifted, density = Moments(), Moments(), Density()
    for part in np.array_split(generator.normal(size=(90, 3)), 7):
        x = np.concatenate([part, np.full((len(part), 1), 0.1)], axis=1)
        clean.add(x)
        shifted.add(x + 0.5)
    assert clean.deviation[3] > 0  # of rounding
    assert clean.unit[3] == 0
    assert np.array_equal(clean.unit[:3], clean.deviation[:3])
    due = np.sqrt((0.25 / clean.unit[:3] ** 2).mean())
    assert frechet_distance(shifted, clean, clean.unit) == pytest.approx(due)
    density.add(np.full((5, 4), 0.1), clean)
    assert density.shares.sum() == pytest.approx(1)
    assert density.shares[0] == density.shares[-1] == 0


class Auxiliary(nn.Module):
    """A net with norms behind and before that only training runs."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.idle = made("conv"), nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        return self.net(self.idle(x) if self.training else x)  # type: ignore[no-any-return]


def test_a_constant_channel_is_said_and_left_out_of_the_comparison() -> None:
    net = made("conv")
    with torch.no_grad():
        net[0].weight[2] = 0
        net[1].bias[2] = 0.1
    own = {"Source": tent.adapt(net, tent.Source(), lean=False)}
    found = compare_features(net, own, stream(shift=1.0), stream(), ["1"])
    assert found.notes == ["1: 1 channels never vary on clean data and are left out"]
    assert all(row["distance to clean"] < 100 for row in found.rows)


def test_a_number_of_layers_is_of_those_that_run() -> None:
    net = Auxiliary().eval()
    assert list_layers(net, stream(), 9) == ["net.1", "net.6"]
    own = {"Source": tent.adapt(net, tent.Source(), lean=False)}
    assert {row["layer"] for row in compare_features(net, own, stream(), stream(), 9).rows} == {"net.1", "net.6"}


def test_methods_that_answer_by_several_passes_are_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    net = made("conv")
    own = {
        "Source": tent.adapt(net, tent.Source(), lean=False),
        "CoTTA": tent.adapt(net, tent.CoTTA(threshold=0, pixels=tent.Pixels((0.5,) * 3, (0.2,) * 3)), lean=False),
    }
    before = Photograph(net)
    monkeypatch.setattr(
        "tent.analysis.features.feature_shift.answer_together", lambda *given: pytest.fail("a batch was run")
    )
    with pytest.raises(ValueError, match=r"^features: CoTTA runs layer '1' \d+ times for one answer, and the source"):
        compare_features(net, own, stream(), stream(), ["1", "6"])
    before.check()


@pytest.mark.parametrize("lean", [True, False])
def test_methods_that_answer_in_one_pass_are_compared(lean: bool) -> None:
    net = made("conv")
    methods = {"BN": tent.BN(), "Tent": tent.Tent(), "SAR": tent.SAR(), "SHOT": tent.SHOT()}
    own = {name: tent.adapt(net, method, lean=lean) for name, method in methods.items()}
    assert find_pass_mismatch(net, own, stream(), ["1", "6"]) is None
