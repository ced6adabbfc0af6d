"""Views: colours as torchvision has them, one affine sampling, seeded; and what cannot be viewed is refused."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from toys import made

import tent
from tent.augment import Pixels, change_images, random_view
from tent.augment.color import (
    CHANGES,
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    random_jitter,
)
from tent.augment.warp import blur, random_affine, warp

IMAGES = torch.rand(6, 3, 9, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("ours", "theirs", "factors"),
    [
        (adjust_brightness, "adjust_brightness", (0.6, 1.0, 1.4)),
        (adjust_contrast, "adjust_contrast", (0.7, 1.0, 1.3)),
        (adjust_saturation, "adjust_saturation", (0.5, 1.0, 1.5)),
        (adjust_hue, "adjust_hue", (-0.06, 0.0, 0.06)),
        (adjust_gamma, "adjust_gamma", (0.7, 1.0, 1.3)),
    ],
)
def test_each_change_of_colour_is_torchvisions(ours, theirs: str, factors: tuple[float, ...]) -> None:  # type: ignore[no-untyped-def]
    functional = pytest.importorskip("torchvision.transforms.functional")
    images = torch.cat([IMAGES, IMAGES[:1, :1].expand(1, 3, 9, 12)]).float()  # a grey one, whose hue is none
    for factor in factors:
        expected = getattr(functional, theirs)(images, factor)
        assert torch.allclose(ours(images, torch.tensor(factor).view(1, 1, 1, 1)), expected, atol=2e-4)
    each = torch.linspace(*factors[::2], len(images)).view(-1, 1, 1, 1)
    alone = torch.cat([getattr(functional, theirs)(images[i : i + 1], float(f)) for i, f in enumerate(each)])
    assert torch.allclose(ours(images, each), alone, atol=2e-4)


def test_colours_are_jittered_within_their_ranges_in_any_order() -> None:
    assert [(low, high) for _, low, high in CHANGES] == [(0.6, 1.4), (0.7, 1.3), (0.5, 1.5), (-0.06, 0.06), (0.7, 1.3)]
    changed = [random_jitter(IMAGES, seeded(i)) for i in range(20)]
    assert all(x.min() >= 0 and x.max() <= 1 for x in changed)
    assert len({float(x.mean()) for x in changed}) == 20
    assert torch.equal(random_jitter(IMAGES, seeded(3)), changed[3])
    grey = random_jitter(IMAGES[:, :1], seeded())
    assert grey.shape == (6, 1, 9, 12)
    assert not torch.equal(grey, IMAGES[:, :1])


def test_a_warp_is_the_padded_images_own_affine_map() -> None:
    functional = pytest.importorskip("torchvision.transforms.functional")
    images, angle, scale, shift = IMAGES[:, :, :, :9].contiguous(), 11.0, 0.93, (1, -1)
    turn = math.radians(angle)
    linear = torch.tensor([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]]).double() / scale
    maps = torch.cat([linear, -linear @ torch.tensor(shift).double()[:, None]], 1)[None]
    for edges, padding in (("border", "replicate"), ("reflection", "reflect")):
        padded = F.pad(images, (8, 8, 8, 8), mode=padding)
        bilinear = functional.InterpolationMode.BILINEAR
        moved = functional.affine(padded, angle, list(shift), scale, [0.0, 0.0], bilinear)
        assert torch.allclose(warp(images, maps, edges), moved[:, :, 8:-8, 8:-8], atol=1e-9)
        assert torch.allclose(warp(images, maps, edges, margin=2), moved[:, :, 6:-6, 6:-6], atol=1e-9)


def test_affine_maps_stay_within_what_is_published() -> None:
    maps = random_affine(500, 32, 64, seeded())
    scale = 1 / maps[:, :, :2].det().sqrt()
    turn = torch.atan2(maps[:, 0, 1], maps[:, 0, 0]).rad2deg()
    shift = -torch.linalg.solve(maps[:, :, :2], maps[:, :, 2])
    for values, low, high, near in ((scale, 0.9, 1.1, 0.01), (turn, -15, 15, 0.5)):
        assert low <= values.min() < low + near
        assert high - near < values.max() <= high
    assert torch.allclose(shift, shift.round(), atol=1e-9)
    assert shift.abs().amax(0).round().tolist() == [8, 4]


def test_a_blur_is_torchvisions() -> None:
    functional = pytest.importorskip("torchvision.transforms.functional")
    for sigma in (0.001, 0.3, 0.5):
        expected = functional.gaussian_blur(IMAGES, [5, 5], [sigma, sigma])[:, :, 2:-2, 2:-2]
        assert torch.allclose(blur(IMAGES, torch.tensor([sigma]).double()), expected, atol=1e-6)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("plain", [False, True])
def test_a_view_is_seeded_and_drawn_for_the_batch_or_for_each_image(plain: bool, each: bool) -> None:
    twins = IMAGES[:1].repeat(4, 1, 1, 1)
    view = random_view(twins, seeded(), plain=plain, each=each)
    assert view.shape == twins.shape
    assert view.dtype == torch.float64
    assert 0 <= view.min() <= view.max() <= 1
    assert torch.equal(view, random_view(twins, seeded(), plain=plain, each=each))
    assert not torch.allclose(view, random_view(twins, seeded(1), plain=plain, each=each), atol=0.1)
    apart = (view - view[:1]).abs().max()  # noise is drawn for each value, and is small
    assert (apart > 0.1) == each
    assert (apart == 0) == (plain and not each)


def test_views_flip_about_half_of_the_batches() -> None:
    ramp = torch.linspace(0, 1, 16, dtype=torch.float64).expand(1, 3, 16, 16)
    falls = [bool((view := random_view(ramp, seeded(i)))[..., 4].mean() > view[..., 11].mean()) for i in range(60)]
    assert 18 < sum(falls) < 42


def test_pixels_say_how_inputs_were_normalised() -> None:
    pixels = Pixels((0.5, 0.4, 0.3), (0.2, 0.25, 0.3))
    inputs = (IMAGES - IMAGES.new_tensor(pixels.mean).view(3, 1, 1)) / IMAGES.new_tensor(pixels.std).view(3, 1, 1)
    assert torch.allclose(pixels.decode(inputs), IMAGES)
    assert torch.allclose(pixels.encode(IMAGES), inputs)
    assert Pixels(0.5, 2) == Pixels([0.5], (2.0,))
    assert Pixels().decode(torch.tensor([[[[-3.0, 0.5, 9.0]]]])).tolist() == [[[[0.0, 0.5, 1.0]]]]
    (changed,), _ = change_images(((inputs.half(),), {}), lambda x: x, pixels, "X")
    assert changed.dtype == torch.float16
    assert torch.allclose(changed.double(), inputs, atol=5e-3)


@pytest.mark.parametrize(
    ("mean", "std", "said"),
    [(0.5, 0, "std must be above 0"), ((), 1, "mean must be one number or one a channel"), ("x", 1, "mean must be")],
)
def test_a_range_that_makes_no_sense_is_refused(mean: object, std: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Pixels(mean, std)  # type: ignore[arg-type]


METHODS = [tent.CMF(), tent.CoTTA(views=1), tent.MEMO(views=1), tent.ROID(), tent.RoTTA(every=1)]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize(
    ("net", "inputs", "said"),
    [
        (
            "conv",
            (torch.rand(4, 3, 8, 8) * 4 - 2,),
            r"given values from -[12].* say how they were normalised: tent\.\w+\(",
        ),
        ("residual", (torch.rand(4, 3, 8, 8),), r"needs one prediction an image, .* have shape \(\d+, 5, 8, 8\)"),
    ],
)
def test_what_cannot_be_viewed_is_one_clear_line(method, net: str, inputs: tuple[Tensor], said: str) -> None:  # type: ignore[no-untyped-def]
    adapted = tent.adapt(made(net), method)
    before = adapted.state_dict()
    with pytest.raises(ValueError, match=said) as caught:
        adapted(*inputs)
    assert "\n" not in str(caught.value)
    assert type(method).__name__ in str(caught.value)
    assert all(torch.equal(before[name], tensor) for name, tensor in adapted.state_dict().items())


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = made("conv")

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.net(x * mask)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_inputs_other_than_one_batch_of_images_are_one_clear_line(method) -> None:  # type: ignore[no-untyped-def]
    adapted = tent.adapt(Masked(), method)
    said = r"is for one batch of images, .* was given \(4, 3, 8, 8\) of float32 and \(\) of float32"
    with pytest.raises(ValueError, match=said):
        adapted(torch.rand(4, 3, 8, 8), torch.ones(()))


def test_a_wrong_number_of_channels_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Pixels mean \(0.5, 0.5\) has 2 numbers for images of 3 channels"):
        tent.adapt(made("conv"), tent.ROID(pixels=Pixels((0.5, 0.5), 1)))(torch.rand(4, 3, 8, 8))


def test_something_else_than_pixels_is_refused() -> None:
    with pytest.raises(TypeError, match=r"ROID pixels must be a tent.Pixels\(mean, std\), got 0.5"):
        tent.adapt(made("conv"), tent.ROID(pixels=0.5))(torch.rand(4, 3, 8, 8))  # type: ignore[arg-type]
