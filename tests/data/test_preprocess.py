import made
import numpy as np
import pytest
import torch
from PIL import Image

from tent.data import Preprocess

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@pytest.mark.parametrize(("height", "width"), [(300, 401), (401, 300), (256, 256), (97, 231), (259, 256), (256, 259)])
@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_it_is_the_published_evaluation_pipeline_to_the_bit(height, width, interpolation):
    transforms = pytest.importorskip("torchvision.transforms")
    pixels = made.pixels(height, width, 3)
    theirs = transforms.Compose(
        [
            transforms.Resize(256, transforms.InterpolationMode(interpolation)),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )(Image.fromarray(pixels))
    ours = Preprocess(256, 224, MEAN, STD, interpolation)([pixels])
    assert torch.equal(ours[0], theirs)


def test_a_batch_without_any_step_is_scaled_and_its_channels_come_first():
    pixels = made.pixels(3, 5, 7, 3)
    x = Preprocess()(pixels)
    assert x.shape == (3, 3, 5, 7)
    assert x.dtype == torch.float32
    assert x.is_contiguous()
    assert torch.equal(x, torch.from_numpy(pixels.transpose(0, 3, 1, 2) / np.float32(255)))


@pytest.mark.parametrize("side", [28, 16])
def test_grey_digits_become_colour_images_of_32(side):
    x = Preprocess(size=32)(made.pixels(2, side, side, 1))
    assert x.shape == (2, 3, 32, 32)
    assert torch.equal(x[:, 0], x[:, 2])


def test_a_batch_is_its_images_one_by_one():
    prepare, pixels = Preprocess(20, 16, MEAN, STD), made.pixels(4, 24, 30, 3)
    assert torch.equal(prepare(pixels), torch.cat([prepare([each]) for each in pixels]))


@pytest.mark.parametrize(
    ("steps", "extent", "kept"),
    [
        ({}, None, True),
        ({}, (24, 30), True),
        ({"size": 24}, (24, 30), True),
        ({"size": 24}, (25, 30), False),
        ({"size": (24, 30)}, (24, 30), True),
        ({"size": (24, 30)}, (30, 24), False),
        ({"size": 24}, None, False),
        ({"crop": (24, 30)}, (24, 30), True),
        ({"crop": 24}, (24, 30), False),
        ({"crop": 24}, None, False),
        ({"size": 24, "crop": 24}, (24, 24), True),
        ({"size": 32, "crop": 24}, (24, 24), False),
    ],
)
def test_it_knows_which_images_stay_as_large_as_they_are(steps, extent, kept):
    prepare = Preprocess(**steps)
    assert prepare.keeps(extent) == kept
    if extent is not None:
        pixels = made.pixels(*extent, 3)
        assert np.array_equal(prepare.shape(pixels), pixels) == kept


@pytest.mark.parametrize("channels", [1, 3])
def test_a_batch_that_fits_is_not_taken_apart(monkeypatch, channels):
    prepare, pixels = Preprocess((24, 30), None, MEAN, STD), made.pixels(4, 24, 30, channels)
    one_by_one = torch.cat([prepare([each]) for each in pixels])
    monkeypatch.setattr(Preprocess, "shape", lambda *_: pytest.fail("an image was shaped on its own"))
    assert torch.equal(prepare(pixels), one_by_one)


def test_an_exact_size_does_not_keep_the_ratio():
    assert Preprocess(size=(8, 12))(made.pixels(1, 30, 30, 3)).shape == (1, 3, 8, 12)


def test_the_images_handed_in_are_not_written_to():
    pixels = made.pixels(2, 8, 8, 3)
    before = pixels.copy()
    Preprocess(mean=MEAN, std=STD)(pixels)
    assert np.array_equal(pixels, before)


def test_words_say_every_step():
    assert Preprocess().words == "scaled to 0..1"
    assert Preprocess(256, 224, MEAN, STD).words == (
        "shorter side resized to 256 (bilinear), centre crop 224x224,"
        " mean (0.485, 0.456, 0.406), std (0.229, 0.224, 0.225)"
    )
    assert Preprocess(size=(8, 12), interpolation="bicubic").words == "resized to 8x12 (bicubic), scaled to 0..1"


def test_lists_are_as_good_as_tuples_and_the_result_can_be_a_key():
    assert hash(Preprocess(size=[8, 8], mean=list(MEAN), std=list(STD))) == hash(Preprocess((8, 8), None, MEAN, STD))


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 0},
        {"size": (1, 2, 3)},
        {"crop": -1},
        {"crop": 2.5},
        {"mean": MEAN},
        {"mean": (0.5,), "std": (0.5,)},
        {"mean": MEAN, "std": (1, 0, 1)},
        {"interpolation": "cubical"},
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises((ValueError, TypeError)):
        Preprocess(**wrong)


def test_images_of_different_sizes_need_a_size():
    with pytest.raises(ValueError, match="give the preprocessing a size"):
        Preprocess()([made.pixels(4, 4, 3), made.pixels(5, 4, 3)])


def test_a_crop_larger_than_the_image_is_refused():
    with pytest.raises(ValueError, match="crop of 9x9 from an image of 8x8"):
        Preprocess(crop=9)(made.pixels(1, 8, 8, 3))


def test_channels_other_than_one_and_three_are_refused():
    with pytest.raises(ValueError, match="2 channels"):
        Preprocess()(made.pixels(1, 8, 8, 2))


def test_an_image_of_pillow_is_prepared_as_its_array_is():
    pixels = made.pixels(40, 70, 3)
    image = Image.fromarray(pixels)
    for each in (Preprocess(), Preprocess(size=32, crop=24), Preprocess(crop=16), Preprocess(size=(8, 12))):
        assert np.array_equal(each.shape(image), each.shape(pixels))
