"""The ways to train by name: what each minimises, on which network, and what its model is called."""

import pytest

from tent.models import NETWORKS
from tent.train.baseline import BASELINES, choose_network, make_objective, model_name


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("rg", "svhn", "mnist"), "rg-svhn-mnist"),
        (("rg", "svhn", "mnist:test"), "rg-svhn-mnist-test"),
        (("rg", "svhn", "mnist_m"), "rg-svhn-mnist-m"),
        (("uda-ss", "cifar10", "cifar10-c:fog"), "uda-ss-cifar10-cifar10-c-fog-5"),
        (("uda-ss", "cifar10", "cifar10-c:glass_blur:3"), "uda-ss-cifar10-cifar10-c-glass_blur-3"),
        (("ttt", "cifar10"), "ttt-cifar10"),
        (("ttt", "cifar10", "", "r26-rotation"), "ttt-cifar10"),
        (("ttt", "cifar10", "", "r26-gn"), "ttt-cifar10-r26-gn"),
        (("ttt", "cifar10", "", "r26-gn-rotation"), "ttt-cifar10-r26-gn"),
        (("rg", "folder:/a/some photos", "npy:/b/images.npy,/b/labels.npy"), "rg-folder-some-photos-npy-images"),
    ],
)
def test_a_model_is_called_by_how_it_was_made(words, name):
    assert model_name(*words) == name


def test_test_time_training_takes_the_network_with_a_branch_and_no_other_way_does():
    assert choose_network("ttt", "r26") == choose_network("ttt", "r26-rotation") == "r26-rotation"
    assert choose_network("ttt", "r26-gn") == "r26-gn-rotation"
    assert {choose_network("ttt", "r26"), choose_network("ttt", "r26-gn")} <= set(NETWORKS)
    assert [choose_network(method, "r26") for method in ("source", "rg", "uda-ss")] == ["r26"] * 3
    with pytest.raises(ValueError, match="r26-rotation has a rotation branch, which rg does not train; choose r26"):
        choose_network("rg", "r26-rotation")


def test_every_way_has_its_name_and_its_cost_on_record():
    made = {name: make_objective(name) for name in BASELINES}
    assert {name: objective.method for name, objective in made.items()} == {name: name for name in BASELINES}
    assert [objective.cost for objective in made.values()] == [1, 2, 2.25, 2]
    assert [objective.needs_target for objective in made.values()] == [False, True, True, False]
    with pytest.raises(ValueError, match="no way to train called 'dann'; there are source, rg, uda-ss, ttt"):
        make_objective("dann")
