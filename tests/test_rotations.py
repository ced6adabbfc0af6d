"""Quarter turns: the right pixels for the right labels."""

import pytest
import torch

from tent.augment import random_rotation, rotate

SQUARE = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def test_each_image_takes_its_own_turns():
    by_hand = [[[1, 2], [3, 4]], [[2, 4], [1, 3]], [[4, 3], [2, 1]], [[3, 1], [4, 2]]]
    images = SQUARE.expand(4, 3, 2, 2)
    out = rotate(images, torch.arange(4))
    assert torch.equal(out, torch.tensor(by_hand, dtype=torch.float32)[:, None].expand(4, 3, 2, 2))
    assert torch.equal(images, SQUARE.expand(4, 3, 2, 2))


def test_the_labels_are_the_turns_and_the_generator_decides_them():
    images = torch.rand(64, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    out, turns = random_rotation(images, torch.Generator().manual_seed(1))
    assert set(turns.tolist()) == {0, 1, 2, 3}
    for before, after, turn in zip(images, out, turns.tolist(), strict=True):
        assert torch.equal(after, before.rot90(turn, (1, 2)))
    assert torch.equal(random_rotation(images, torch.Generator().manual_seed(1))[0], out)
    assert not torch.equal(random_rotation(images, torch.Generator().manual_seed(2))[1], turns)


def test_only_squares_can_be_turned():
    with pytest.raises(ValueError, match=r"images of shape \(2, 3, 8, 9\): only square ones"):
        rotate(torch.rand(2, 3, 8, 9), torch.zeros(2))
