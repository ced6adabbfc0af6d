"""Copies that differ: the right pixels in the right places."""

import torch

from tent.augment import random_flip, random_shift

IMAGES = torch.arange(2 * 3 * 5 * 5, dtype=torch.float64).view(2, 3, 5, 5)


def test_a_shift_moves_each_image_by_itself_and_repeats_its_edge() -> None:
    images = IMAGES[:1].expand(200, 3, 5, 5)
    out = random_shift(images, 2, torch.Generator().manual_seed(0))
    padded = torch.nn.functional.pad(IMAGES[:1], (2, 2, 2, 2), mode="replicate")[0]
    places = {(i, j): padded[:, i : i + 5, j : j + 5] for i in range(5) for j in range(5)}
    found = [[place for place, crop in places.items() if torch.equal(crop, image)] for image in out]
    assert all(len(which) == 1 for which in found)
    assert {which[0] for which in found} == set(places)  # all of them, in 200 draws
    assert torch.equal(images, IMAGES[:1].expand(200, 3, 5, 5))


def test_a_mirror_exchanges_left_and_right_of_about_half() -> None:
    images = IMAGES[:1].expand(200, 3, 5, 5)
    out = random_flip(images, torch.Generator().manual_seed(0))
    flipped = [torch.equal(image, IMAGES[0].flip(2)) for image in out]
    assert all(torch.equal(image, IMAGES[0]) for image, flip in zip(out, flipped, strict=True) if not flip)
    assert 70 < sum(flipped) < 130


def test_the_generator_decides() -> None:
    many = IMAGES.repeat(9, 1, 1, 1)
    for change in (lambda random: random_shift(many, 4, random), lambda random: random_flip(many, random)):
        one, same, other = (change(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
        assert torch.equal(one, same)
        assert not torch.equal(one, other)
