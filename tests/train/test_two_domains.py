"""Each baseline on a toy of two domains, where it must do what it is for: answer better than source training does."""

import numpy as np
import pytest
import torch
from two_domains import bars, error, trained

from tent import augment
from tent.train import RG, TTT, UDASS, CrossEntropy


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_reversed_gradient_forgets_what_tells_the_domains_apart(seed):
    # the tint goes with the class on 95% of the source, and is one and the same on the target: to lean on it is to
    # tell the domains apart, and what is left is the bar
    source = bars(512, 3 * seed, 27, (-25, 25), 0.95)
    target, test = (bars(n, 3 * seed + i, 27, (25, 25), 1) for n, i in ((512, 1), (400, 2)))
    plain, aligned = errors(RG(), source, target, test, epochs=10, lr=0.02, seed=seed)
    assert aligned < plain - 0.1
    assert aligned < 0.1


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_self_supervision_on_the_target_makes_features_that_answer_there(seed):
    # the tint alone gives the class away on the source, and nothing on the target; to tell turned images and places
    # of quarters, on both, features must see the bar
    source = bars(512, 3 * seed, 40, (-25, 25), 1)
    target, test = (bars(n, 3 * seed + i, 40, (0, 0), 1) for n, i in ((512, 1), (400, 2)))
    plain, aligned = errors(UDASS(), source, target, test, epochs=12, lr=0.05, seed=seed)
    assert aligned < plain - 0.15
    assert aligned < 0.25


def errors(objective, source, target, test, **choices):
    plain, aligned = trained(CrossEntropy(), source, None, **choices), trained(objective, source, target, **choices)
    return error(plain, test), error(aligned, test)


def test_test_time_training_learns_labels_and_rotations_together():
    source, test = (bars(n, i, 60, (0, 0), 1, lit=40) for n, i in ((512, 0), (200, 1)))
    run = trained(TTT(), source, None, epochs=6, lr=0.05)
    images, turns = augment.random_rotation(
        run.preprocess(test.fetch(np.arange(200))), torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        found = run.model.eval()(images, head="rotation").argmax(1)
    assert error(run, test) < 0.1
    assert (found == turns).float().mean() > 0.9  # chance is 0.25
