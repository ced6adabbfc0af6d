"""SAN: the published sizes, the sums over footprints, sizes that do not fit, and Tent as on a plain copy."""

import pytest
import torch
from reference import PlainTent
from torch import nn
from torch.nn import functional as F

import tent
from tent.models.architectures.footprints import aggregate
from tent.models.architectures.san import KINDS, SAN, MatrixConv, Pairwise, Patchwise, positions, san, san_cifar

SIZES = {  # parameters for 1,000 and 100 classes
    (10, "pair"): (10_531_848, 8_687_748),
    (10, "patch"): (11_841_124, 9_997_024),
    (15, "pair"): (14_065_436, 12_221_336),
    (15, "patch"): (16_181_310, 14_337_210),
    (19, "pair"): (17_596_156, 15_752_056),
    (19, "patch"): (20_518_470, 18_674_370),
}


def tiny(kind: str) -> SAN:
    torch.manual_seed(0)
    model = SAN(kind, (1, 1, 0, 0, 0), 5, width=0.25, pools=(True, True, False, False, False))
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.running_mean, std=0.1)
    return model.eval()


@pytest.mark.parametrize(("depth", "kind"), SIZES)
def test_the_published_sizes(depth: int, kind: str) -> None:
    with torch.device("meta"):
        models = [san(depth, kind, classes) for classes in (1000, 100)]
    assert tuple(sum(p.numel() for p in model.parameters()) for model in models) == SIZES[depth, kind]


def test_a_footprint_is_summed_as_if_it_were_copied() -> None:
    x, weight = torch.randn(2, 6, 5, 4).double(), torch.randn(2, 3, 9, 5, 4).double()
    padded = F.pad(x, (1, 1, 1, 1), mode="reflect")
    copies = F.unfold(padded, 3).view(2, 6, 9, 5, 4)
    own = weight[:, torch.arange(6) % 3]  # channel c has weight c mod 3
    torch.testing.assert_close(aggregate(padded, weight), (copies * own).sum(2))


def test_the_gradients_of_a_footprints_sum_agree_with_finite_differences() -> None:
    padded, weight = torch.randn(2, 6, 4, 5).double().requires_grad_(), torch.randn(2, 3, 9, 2, 3).double()
    assert torch.autograd.gradcheck(aggregate, (padded, weight.requires_grad_()))
    assert torch.autograd.gradcheck(lambda x: aggregate(x, weight.detach()), (padded,))
    assert torch.autograd.gradcheck(lambda w: aggregate(padded.detach(), w), (weight,))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_batch_is_answered(kind: str) -> None:
    assert tiny(kind)(torch.zeros(0, 3, 16, 16)).shape == (0, 5)


@pytest.mark.parametrize("bias", [True, False])
def test_a_convolution_of_single_pixels_is_a_product_of_matrices(bias: bool) -> None:
    layer, x = MatrixConv(3, 4, bias).double(), torch.randn(2, 3, 5, 6).double().requires_grad_()
    ours, theirs = layer(x), nn.Conv2d.forward(layer, x)
    torch.testing.assert_close(ours, theirs)
    way, leaves = torch.randn_like(ours), [x, *layer.parameters()]
    found, expected = (torch.autograd.grad((y * way).sum(), leaves) for y in (ours, theirs))
    torch.testing.assert_close(found, expected)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer.float()(x.detach().float()).dtype == torch.bfloat16


def test_a_narrow_sum_with_wide_weights_is_wide_and_its_result_may_be_written_to() -> None:
    total = aggregate(torch.randn(2, 4, 5, 5).bfloat16().requires_grad_(), torch.randn(2, 2, 9, 3, 3))
    assert total.dtype == torch.float32
    total.mul_(2).sum().backward()


def test_weights_of_other_footprints_are_refused() -> None:
    with pytest.raises(ValueError, match=r"weights of \(2, 2, 9, 3, 2\) are not those of footprints in \(2, 4, 5, 5\)"):
        aggregate(torch.randn(2, 4, 5, 5), torch.randn(2, 2, 9, 3, 2))


def test_pairs_are_told_by_differences_of_features_and_places_and_their_weights_add_up_to_one() -> None:
    layer = Pairwise(32, 3, nn.BatchNorm2d).double().eval()
    query, key = torch.randn(2, 2, 4, 4).double(), torch.randn(2, 2, 4, 4).double()
    weight = layer.weigh(query, key)
    assert weight.shape == (2, 1, 9, 16)
    torch.testing.assert_close(weight.sum(2), torch.ones(2, 1, 16).double())
    place = layer.place(positions(query))
    seen = [  # the pixel in row 1 and column 2, whose neighbours need no border
        torch.cat([query[:, :, 1, 2] - key[:, :, i, j], (place[:, :, 1, 2] - place[:, :, i, j]).expand(2, -1)], 1)
        for i in (0, 1, 2)
        for j in (1, 2, 3)
    ]
    expected = layer.relate(torch.stack(seen, 2)[..., None]).softmax(2)[..., 0]
    torch.testing.assert_close(weight[..., 1 * 4 + 2], expected)


def test_patches_are_told_by_the_middle_and_the_whole_footprint() -> None:
    layer = Patchwise(64, 3, nn.BatchNorm2d).double().eval()
    query, key = torch.randn(2, 4, 4, 4).double(), torch.randn(2, 4, 4, 4).double()
    seen = torch.cat([query[:, :, 1, 2], key[:, :, 0:3, 1:4].flatten(1)], 1)[..., None, None]
    expected = layer.relate(seen).view(2, 2, 9)
    torch.testing.assert_close(layer.weigh(query, key)[..., 1 * 4 + 2], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_tent_moves_it_as_it_would_a_plain_copy(kind: str) -> None:
    model = tiny(kind).double()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    x = [torch.randn(4, 3, 16, 16).double() for _ in range(2)]
    adapted, plain = tent.adapt(model), PlainTent(model)
    for batch in x:
        torch.testing.assert_close(adapted(batch), plain.step(batch), rtol=1e-9, atol=1e-9)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    moved = [p.detach() for p in plain.params]
    torch.testing.assert_close([*adapted.state.params.values()], moved, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_doctor_finds_it_ready(kind: str) -> None:
    found = tent.doctor(tiny(kind), torch.randn(64, 3, 16, 16))
    assert not [finding for finding in found.findings if finding.level != "note"], found


def test_the_cifar_form_answers_at_32_pixels_at_any_width_that_is_a_multiple_of_a_quarter() -> None:
    model = san_cifar("patch", classes=7, channels=1, width=0.25).eval()
    assert model.features(torch.rand(1, 1, 32, 32)).shape == (1, 512)
    assert model(torch.rand(1, 1, 32, 32)).shape == (1, 7)
    with pytest.raises(ValueError, match=r"width 0.3: a SAN's is a multiple of 0.25"):
        san_cifar("pair", width=0.3)


def test_images_too_small_for_a_footprint_are_refused_in_one_line() -> None:
    with torch.device("meta"):
        small, large = san_cifar("pair"), san(10, "pair")
    small.check_size(32, 32)
    with pytest.raises(
        ValueError, match=r"^images of 28x32 are too small for this SAN, .* need 32 pixels .* --size 32, .*$"
    ):
        small.check_size(28, 32)
    with pytest.raises(ValueError, match="need 128 pixels a side; resize them with --size 128, or in Python"):
        large(torch.rand(1, 3, 32, 32))


def test_unknown_kinds_and_depths_are_named() -> None:
    with pytest.raises(ValueError, match="no self-attention 'triple'; there are pair, patch"):
        san_cifar("triple")
    with pytest.raises(ValueError, match="no SAN-12; there are SAN-10, SAN-15, SAN-19"):
        san(12, "pair")
