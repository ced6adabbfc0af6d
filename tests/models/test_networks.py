"""R-26 and WRN-40-2: the papers' sizes, any number of classes, any norm layer."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tent.models import NETWORKS, RESIDUAL, SCALED, find_network, name_width, r26, wrn40_2


def convolutions(model: nn.Module, side: int) -> list[nn.Conv2d]:
    return [layer for layer in model.modules() if isinstance(layer, nn.Conv2d) and layer.kernel_size == (side, side)]


def test_r26_has_26_layers_of_16_32_and_64_channels():
    model = r26()
    assert [layer.out_channels for layer in convolutions(model, 3)] == [16] * 9 + [32] * 8 + [64] * 8
    assert len(convolutions(model, 3)) + 1 == 26  # and the linear layer
    assert not convolutions(model, 1)  # shortcuts have no parameters
    assert sum(p.numel() for p in model.parameters()) == 366_938


def test_r26w2_is_r26_with_stages_twice_as_wide():
    model = NETWORKS["r26w2"]()
    assert [layer.out_channels for layer in convolutions(model, 3)] == [16] + [32] * 8 + [64] * 8 + [128] * 8
    assert sum(p.numel() for p in model.parameters()) == 1_456_858


def test_wrn_40_2_has_40_layers_and_its_published_size():
    model = wrn40_2()
    assert [layer.out_channels for layer in convolutions(model, 3)] == [16] + [32] * 12 + [64] * 12 + [128] * 12
    assert len(convolutions(model, 3)) + len(convolutions(model, 1)) == 40  # 3x3 layers and linear are 38 of them
    assert sum(p.numel() for p in model.parameters()) == 2_243_546


@pytest.mark.parametrize("network", RESIDUAL.values(), ids=RESIDUAL)
def test_any_number_of_classes_channels_and_any_size(network):
    model = network(classes=7, channels=1).eval()
    for side in (32, 28, 17):
        assert model(torch.rand(2, 1, side, side)).shape == (2, 7)


@pytest.mark.parametrize("network", RESIDUAL.values(), ids=RESIDUAL)
def test_norm_layers_are_the_callers_choice(network):
    model = network(norm=lambda channels: nn.GroupNorm(8, channels)).train()
    assert not any(isinstance(layer, nn.BatchNorm2d) for layer in model.modules())
    x = torch.rand(3, 3, 16, 16)
    torch.testing.assert_close(model(x)[:1], model(x[:1]))  # no image sees another one


@pytest.mark.parametrize("network", RESIDUAL.values(), ids=RESIDUAL)
def test_every_parameter_gets_a_gradient_and_features_feed_the_linear_layer(network):
    model = network().eval()
    x = torch.rand(2, 3, 16, 16)
    torch.testing.assert_close(model.fc(model.features(x)), model(x))
    F.cross_entropy(model(x), torch.tensor([1, 2])).backward()
    own = [p for name, p in model.named_parameters() if not name.startswith("rotation.")]
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in own)


@pytest.mark.parametrize("network", RESIDUAL.values(), ids=RESIDUAL)
def test_the_seed_decides_the_first_weights(network):
    def weights(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.cat([p.detach().flatten() for p in network().parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


@pytest.mark.filterwarnings("ignore:the equilibrium of an image was not found")  # at random weights
@pytest.mark.parametrize("name", SCALED)
def test_a_name_may_end_with_a_width(name):
    small = find_network(f"{name}-w0.25")(classes=7).eval()
    assert small(torch.rand(1, 3, 32, 32)).shape == (1, 7)
    full, own = (sum(p.numel() for p in net.parameters()) for net in (NETWORKS[name](classes=7), small))
    assert 9 < full / own < 17  # kernels go with the square of the width, norms and biases with the width
    assert name_width(name, 0.25) == f"{name}-w0.25"
    assert name_width(name, 1) == name


def test_names_that_are_none_are_said_with_those_that_there_are():
    for wrong in ("r27", "r26-w2", "mdeq-wide", "mdeq-w"):
        with pytest.raises(
            ValueError, match=f"no network '{wrong}'; there are r26, .*, mdeq, vit-cifar, convnext-cifar"
        ):
            find_network(wrong)
    with pytest.raises(ValueError, match="r26 has one width; those with a choice are san10-pair, san10-patch, mdeq"):
        name_width("r26", 2)
    with pytest.raises(ValueError, match="width must be above 0, not -1"):
        name_width("mdeq", -1)


def test_a_vit_of_cifars_size_refuses_other_sides_in_one_line():
    model = NETWORKS["vit-cifar"](width=1 / 3)
    assert model(torch.rand(2, 3, 32, 32)).shape == (2, 10)
    with pytest.raises(ValueError, match=r"^images of 28x28: vit-cifar takes 32x32; resize them with --size 32$"):
        model(torch.rand(2, 3, 28, 28))


def test_a_convnext_refuses_images_that_it_cannot_halve_four_times() -> None:
    with pytest.raises(ValueError, match="images of 8x16: convnext-cifar takes 16 pixels a side at least"):
        find_network("convnext-cifar-w0.5")(classes=3)(torch.zeros(1, 3, 8, 16))
