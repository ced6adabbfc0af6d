"""What a step draws: passes that see everything once, crops and flips of every image on its own."""

import pytest
import torch

from tent.train.batches import Passes, random_colors, random_crop, random_flip, random_scale

IMAGES = torch.arange(1, 6 * 5 * 4 * 2 + 1, dtype=torch.uint8).view(6, 5, 4, 2)


def random(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_crop_is_a_shift_that_brings_in_black():
    seen = set()
    for seed in range(40):
        for image, out in zip(IMAGES, random_crop(IMAGES, 1, random(seed)), strict=True):
            padded = torch.zeros(7, 6, 2, dtype=torch.uint8)
            padded[1:6, 1:5] = image
            places = [(y, x) for y in range(3) for x in range(3) if torch.equal(padded[y : y + 5, x : x + 4], out)]
            assert len(places) == 1
            seen.update(places)
    assert len(seen) == 9  # every shift comes up


def test_a_flip_mirrors_about_half_of_the_images_from_left_to_right():
    mirrored = 0
    for seed in range(50):
        for image, out in zip(IMAGES, random_flip(IMAGES, random(seed)), strict=True):
            assert torch.equal(out, image) or torch.equal(out, image.flip(1))
            mirrored += torch.equal(out, image.flip(1))
    assert 110 < mirrored < 190  # 150 of 300 expected, over four deviations away


def test_a_scale_enlarges_about_the_centre_and_repeats_edges_where_it_shrinks():
    image = torch.zeros(1, 9, 9, 1, dtype=torch.uint8)
    image[0, 3:6, 3:6], image[0, :, 0] = 200, 90
    assert torch.equal(random_scale(image, 1.0, 1.0, random(0)), image)
    larger, smaller = (random_scale(image, factor, factor, random(0))[0, :, :, 0] for factor in (2.0, 0.5))
    assert (larger == 200).sum() == 25  # of 9: two pixels for one, less the softened rim
    assert torch.equal(larger, larger.flip(0))
    assert (smaller == 200).sum() == 1
    assert (smaller[:, :3] == 90).all()  # the left edge, where the image has no pixels
    sums = {int(one.sum()) for one in random_scale(image.expand(64, -1, -1, -1), 0.5, 2.0, random(0))}
    assert len(sums) > 50  # each image has a factor of its own


def test_colors_make_negatives_of_about_half_of_the_images_and_differ_between_them():
    dark = torch.full((400, 4, 4, 3), 40, dtype=torch.uint8)
    means = random_colors(dark, random(0)).double().mean((1, 2, 3))
    assert 150 < (means > 128).sum() < 250  # 200 expected, five deviations away
    assert means.unique().numel() > 50
    grey = random_colors(torch.full((8, 4, 4, 1), 40, dtype=torch.uint8), random(0))
    assert grey.shape == (8, 4, 4, 1)
    assert grey.dtype == torch.uint8


def test_the_same_draws_give_the_same_images_and_the_batch_is_left_alone():
    before = IMAGES.clone()
    assert torch.equal(random_scale(IMAGES, 0.5, 2, random(1)), random_scale(IMAGES, 0.5, 2, random(1)))
    assert torch.equal(random_colors(IMAGES, random(1)), random_colors(IMAGES, random(1)))
    assert torch.equal(random_crop(IMAGES, 2, random(1)), random_crop(IMAGES, 2, random(1)))
    assert torch.equal(random_flip(IMAGES, random(1)), random_flip(IMAGES, random(1)))
    assert torch.equal(IMAGES, before)


@pytest.mark.parametrize(("total", "n"), [(10, 3), (10, 10), (3, 10), (1, 4)])
def test_every_pass_sees_everything_once(total, n):
    passes = Passes(total, 0, 3)
    seen = torch.cat([passes.between(step * n, (step + 1) * n) for step in range(30)])
    for first in range(0, len(seen) - total + 1, total):
        assert sorted(seen[first : first + total].tolist()) == list(range(total))


def test_passes_differ_and_depend_on_the_key_alone():
    one, two, other = Passes(50, 0, 3), Passes(50, 0, 3), Passes(50, 1, 3)
    assert torch.equal(one.between(0, 100), two.between(0, 100))
    assert not torch.equal(one.between(0, 50), one.between(50, 100))
    assert not torch.equal(one.between(0, 50), other.between(0, 50))


def test_a_place_holds_the_same_whenever_it_is_asked_for():
    straight, late = Passes(7, 4), Passes(7, 4)
    steps = [straight.between(step * 5, (step + 1) * 5) for step in range(6)]
    assert torch.equal(late.between(25, 30), steps[5])
    assert torch.equal(late.between(0, 5), steps[0])
