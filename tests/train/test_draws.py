"""Passes without end: each sees everything once, and any place can be asked for out of turn."""

import pytest
import torch

from tent.train.batches import Passes


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
