"""Crops and flips: every image on its own, nothing lost but what is shifted out."""

import torch

from tent.train.batches import random_crop, random_flip

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


def test_the_same_draws_give_the_same_images_and_the_batch_is_left_alone():
    before = IMAGES.clone()
    assert torch.equal(random_crop(IMAGES, 2, random(1)), random_crop(IMAGES, 2, random(1)))
    assert torch.equal(random_flip(IMAGES, random(1)), random_flip(IMAGES, random(1)))
    assert torch.equal(IMAGES, before)
