"""The real sets, where they are found."""

import numpy as np
import pytest
from real_sets import folder_or_skip

from tent.data import Preprocess, Stream, load

pytestmark = pytest.mark.real_data

COUNTS = {"cifar10": (50_000, 10_000), "mnist": (60_000, 10_000), "usps": (7_291, 2_007)}
PARTS = {"mnist-m": (20_000, 9_001), "svhn": (73_257, 9_360)}


@pytest.mark.parametrize("name", [*COUNTS, *PARTS])
def test_every_set_opens_and_becomes_32_by_32_in_colour(real_data, name):
    for split, count in zip(("train", "test"), (COUNTS | PARTS)[name], strict=True):
        images = load(name, split, root=real_data)
        assert len(images) == count
        assert set(np.unique(images.labels)) == set(range(10))
        x, y, _ = next(iter(Stream(images, 64, preprocess=Preprocess(size=32))))
        assert x.shape == (64, 3, 32, 32)
        assert len(y) == 64
        assert 0 <= float(x.min()) < float(x.max()) <= 1


def test_a_part_of_a_set_says_so(real_data):
    assert load("svhn", root=real_data).name == "svhn test (9,360 of the published 26,032 images)"
    assert load("svhn", "train", root=real_data).name == "svhn train"


def test_cifar10_is_in_its_official_order(real_data):
    images = load("cifar10", root=real_data)
    assert images.labels[:10].tolist() == [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]
    assert np.bincount(images.labels).tolist() == [1000] * 10


def test_a_stream_of_cifar10_is_normalised(real_data):
    mean, std = (0.4914, 0.4822, 0.4465), (0.2471, 0.2435, 0.2616)
    stream = Stream(load("cifar10", root=real_data), 200, preprocess=Preprocess(mean=mean, std=std))
    sums = [x.double().mean(dim=(0, 2, 3)) for x, _, _ in stream]
    assert len(sums) == 50
    assert float((sum(sums) / 50).abs().max()) < 0.02  # the test set's means are those of the train set, nearly


def test_a_set_that_is_not_there_says_how_to_bring_it(tmp_path):
    for name, remedy in (("imagenet-val5k", "bring it by hand: ILSVRC2012"), ("cifar10", "tent data get cifar10")):
        with pytest.raises(pytest.skip.Exception, match=f"{name} is not in .*{remedy}.* with TENT_DATA"):
            folder_or_skip(tmp_path, name)
