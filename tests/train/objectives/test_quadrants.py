"""Quadrants and turns: the right pixels for the right labels, and everything drawn from one generator."""

import pytest
import torch

from tent import augment
from tent.train.objectives import uda_ss

IMAGE = torch.arange(16.0).view(1, 1, 4, 4)  # rows 0 1 2 3, 4 5 6 7, 8 9 10 11, 12 13 14 15


@pytest.mark.parametrize(
    ("place", "pixels"),
    [(0, [[0, 1], [4, 5]]), (1, [[2, 3], [6, 7]]), (2, [[8, 9], [12, 13]]), (3, [[10, 11], [14, 15]])],
    ids=["top left", "top right", "bottom left", "bottom right"],
)
def test_a_label_is_the_place_of_the_quarter(place, pixels):
    assert uda_ss.cut_quadrants(IMAGE, torch.tensor([place]))[0, 0].tolist() == pixels


def test_every_image_is_cut_at_its_own_place():
    images = torch.randn(7, 3, 6, 8)
    places = torch.tensor([3, 0, 2, 1, 1, 0, 3])
    out = uda_ss.cut_quadrants(images, places)
    assert out.shape == (7, 3, 3, 4)
    for image, place, quarter in zip(images, places.tolist(), out, strict=True):
        rows, columns = slice(3, 6) if place > 1 else slice(0, 3), slice(4, 8) if place % 2 else slice(0, 4)
        assert torch.equal(quarter, image[:, rows, columns])


@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (2, 3, 4, 5), (3, 4, 4)], ids=str)
def test_images_without_a_middle_are_refused(shape):
    with pytest.raises(ValueError, match=r"images of shape .*: only those of even height and width"):
        uda_ss.cut_quadrants(torch.zeros(shape), torch.zeros(shape[0], dtype=torch.long))


@pytest.mark.parametrize(
    ("draw", "make"),
    [(uda_ss.random_quadrants, uda_ss.cut_quadrants), (augment.random_rotation, augment.rotate)],
    ids=["quadrants", "rotations"],
)
def test_what_is_drawn_is_what_the_labels_say(draw, make):
    images = torch.randn(64, 1, 4, 4).contiguous(memory_format=torch.channels_last)
    before = images.clone()
    out, labels = draw(images, torch.Generator().manual_seed(1))
    assert torch.equal(out, make(images, labels))
    assert sorted(set(labels.tolist())) == [0, 1, 2, 3]
    assert torch.equal(labels, draw(images, torch.Generator().manual_seed(1))[1])
    assert not torch.equal(labels, draw(images, torch.Generator().manual_seed(2))[1])
    assert torch.equal(images, before)
