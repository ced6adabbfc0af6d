"""AugMix: each operation as Pillow has it, mixtures of all images at once."""

import numpy as np
import pytest
import torch
from torch import Tensor

from tent.augment import augmix
from tent.augment.augmix import (
    EQUALIZE,
    ROTATE,
    SHEAR_X,
    SHEAR_Y,
    SHIFT_X,
    SHIFT_Y,
    _operate,
    _random_crop,
    autocontrast,
    equalize,
    posterize,
    solarize,
)

RANDOM = torch.Generator().manual_seed(0)
BYTES = (torch.rand(4, 3, 32, 32, generator=RANDOM) ** 2 * 200 + 20).round().byte()
BYTES[3] = 77  # one value, which has no contrast and no histogram to spread
IMAGES = BYTES.double() / 255


def by_pillow(change) -> Tensor:  # type: ignore[no-untyped-def]
    image_module = pytest.importorskip("PIL.Image")
    changed = [change(image_module.fromarray(x.permute(1, 2, 0).numpy())) for x in BYTES]
    return torch.stack([torch.from_numpy(np.array(x)).permute(2, 0, 1) for x in changed]).double() / 255


@pytest.mark.parametrize("level", [0.01, 0.05, 0.0999])
def test_changes_of_colour_are_pillows(level: float) -> None:
    ops = pytest.importorskip("PIL.ImageOps")
    levels = torch.full((4, 1, 1, 1), level, dtype=torch.float64)
    threshold = 256 - int(level * 256)
    assert torch.allclose(solarize(IMAGES, levels), by_pillow(lambda x: ops.solarize(x, threshold)))
    assert torch.allclose(posterize(IMAGES, levels), by_pillow(lambda x: ops.posterize(x, 4 - int(level * 4))))
    assert torch.allclose(equalize(IMAGES, levels), by_pillow(ops.equalize))
    rounding = 1.001 / 255
    assert torch.allclose(autocontrast(IMAGES, levels), by_pillow(ops.autocontrast), atol=rounding)


def test_what_is_inverted_are_the_brightest() -> None:
    bright = torch.tensor([[[[0.5, 0.95, 1.0]]]])
    assert torch.allclose(solarize(bright, torch.full((1, 1, 1, 1), 0.1)), torch.tensor([[[[0.5, 0.05, 0.0]]]]))


@pytest.mark.parametrize(
    ("kind", "matrix"),
    [
        (SHEAR_X, (1, -0.03, 0, 0, 1, 0)),
        (SHEAR_Y, (1, 0, 0, -0.03, 1, 0)),
        (SHIFT_X, (1, 0, -1, 0, 1, 0)),
        (SHIFT_Y, (1, 0, 0, 0, 1, -1)),
    ],
)
def test_shears_and_shifts_are_pillows(kind: int, matrix: tuple[float, ...]) -> None:
    module = pytest.importorskip("PIL.Image")
    ours = _moved(kind)
    theirs = by_pillow(lambda x: x.transform((32, 32), module.Transform.AFFINE, matrix, module.Resampling.BILINEAR))
    assert torch.allclose(ours[:, :, 3:-3, 3:-3], theirs[:, :, 3:-3, 3:-3], atol=1.5 / 255)


def test_turns_are_pillows() -> None:
    module = pytest.importorskip("PIL.Image")
    degrees = [by_pillow(lambda x, d=d: x.rotate(d, module.Resampling.BILINEAR)) for d in (3, -3)]
    apart = [float((_moved(ROTATE) - each)[:, :, 4:-4, 4:-4].abs().max()) for each in degrees]
    assert min(apart) < 1.5 / 255 < max(apart)


def _moved(kind: int) -> Tensor:
    kinds, signs = torch.full((4,), kind), torch.full((4,), -1)
    return _operate(IMAGES, kinds, torch.full((4,), 0.1, dtype=torch.float64), signs)


def test_an_operation_changes_the_images_that_it_was_drawn_for() -> None:
    kinds = torch.tensor([-1, EQUALIZE, ROTATE, -1])
    changed = _operate(IMAGES, kinds, torch.full((4,), 0.1, dtype=torch.float64), torch.ones(4, dtype=torch.long))
    assert [torch.equal(a, b) for a, b in zip(changed, IMAGES, strict=True)] == [True, False, False, True]


@pytest.mark.parametrize("resize", [False, True])
def test_mixtures_are_seeded_and_differ(resize: bool) -> None:
    twins = IMAGES[:1].float().repeat(50, 1, 1, 1)
    views = augmix(twins, torch.Generator().manual_seed(1), resize)
    assert views.shape == twins.shape
    assert 0 <= views.min() <= views.max() <= 1 + 1e-6
    assert torch.equal(views, augmix(twins, torch.Generator().manual_seed(1), resize))
    assert len(torch.unique(views.flatten(1), dim=0)) == 50


def test_crops_shift_by_up_to_an_eighth_and_flip() -> None:
    x = torch.zeros(400, 1, 16, 16, dtype=torch.float64)
    x[:, :, 8, 5] = 1
    places = _random_crop(x, torch.Generator().manual_seed(0), resize=False).flatten(1).argmax(1)
    assert {int(place) // 16 for place in places} == {6, 7, 8, 9, 10}
    assert {int(place) % 16 for place in places} == {3, 4, 5, 6, 7} | {8, 9, 10, 11, 12}


def test_resized_crops_hold_parts_of_the_image() -> None:
    ramp = torch.linspace(0, 1, 32, dtype=torch.float64).expand(300, 1, 32, 32)
    crops = _random_crop(ramp, torch.Generator().manual_seed(0), resize=True)
    spans = (crops[:, 0, 0, -1] - crops[:, 0, 0, 0]).abs()
    assert 0.2 < spans.min() < 0.35
    assert 0.95 < spans.max() <= 1
    assert 100 < (crops[:, 0, 0, -1] < crops[:, 0, 0, 0]).sum() < 200
