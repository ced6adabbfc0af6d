"""The corruptions are as strong as those of the published generator, on the same 64 photographs."""

import json
from pathlib import Path

import numpy as np
import pytest
from corruption_images import SHARED
from corruption_statistics import EXACT, distance, statistics

from tent.data.corruptions import CORRUPTIONS, corrupt

PUBLISHED = json.loads((Path(__file__).parent / "published.json").read_text())
ARCHIVE = SHARED / "reference_corruptions.npz"
EVERY = [(type, severity) for type in CORRUPTIONS for severity in range(1, 6)]
ROUGH = {"frost", "spatter"}

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def archive():
    if not ARCHIVE.exists():
        pytest.skip("the published generator's images are not here")
    with np.load(ARCHIVE) as images:
        yield {key: images[key] for key in images.files}


def test_the_extract_covers_every_type_and_severity():
    assert set(PUBLISHED) == {f"{type}_{severity}" for type, severity in EVERY}


@pytest.mark.parametrize(("type", "severity"), EVERY)
def test_strength_is_the_published_one(cifar, type, severity):
    published = PUBLISHED[f"{type}_{severity}"]
    seen = statistics(cifar, corrupt(cifar, type, severity, frost="made"))
    assert abs(seen["mean"] - published["mean"]) <= 2
    assert seen["distance"] == pytest.approx(published["distance"], rel=0.15 if type in ROUGH else 0.08)


@pytest.mark.parametrize(("type", "severity"), EVERY)
def test_colour_contrast_and_spectrum_are_the_published_ones(cifar, type, severity):
    published = PUBLISHED[f"{type}_{severity}"]
    seen = statistics(cifar, corrupt(cifar, type, severity, frost="made"))
    np.testing.assert_allclose(seen["colour"], published["colour"], atol=3)
    assert seen["contrast"] == pytest.approx(published["contrast"], rel=0.12)
    np.testing.assert_allclose(seen["bands"], published["bands"], rtol=0.16, atol=0.05)


@pytest.mark.parametrize("severity", range(1, 6))
@pytest.mark.parametrize("type", EXACT)
def test_each_image_is_the_published_one_where_nothing_is_random(cifar, type, severity):
    seen = corrupt(cifar, type, severity).mean((1, 2, 3))
    np.testing.assert_allclose(seen, PUBLISHED[f"{type}_{severity}"]["images"], atol=0.2)


@pytest.mark.parametrize(("type", "severity"), EVERY)
def test_images_against_the_published_images(cifar, archive, type, severity):
    published = archive[f"{type}_{severity}"]
    seen = corrupt(cifar, type, severity, frost="made")
    assert abs(seen.mean() - published.mean()) <= 2
    assert distance(cifar, seen) == pytest.approx(distance(cifar, published), rel=0.15 if type in ROUGH else 0.08)
    if type in EXACT:
        assert np.abs(seen.astype(int) - published).mean() <= 0.1  # the bar is 1.5


def test_the_extract_is_that_of_the_published_images(cifar, archive):
    for key, images in archive.items():
        seen = statistics(cifar, images)
        for name, value in seen.items():
            np.testing.assert_allclose(value, PUBLISHED[key][name], atol=0.006, err_msg=f"{key} {name}")


@pytest.mark.parametrize("type", ["fog", "frost", "snow", "motion_blur", "elastic_transform", "spatter"])
def test_strength_hardly_depends_on_the_seed(cifar, type):
    seen = [statistics(cifar, corrupt(cifar, type, 3, seed=seed, frost="made")) for seed in range(1, 5)]
    published = PUBLISHED[f"{type}_3"]
    assert abs(np.mean([one["mean"] for one in seen]) - published["mean"]) <= 2
    mean = np.mean([one["distance"] for one in seen])
    assert mean == pytest.approx(published["distance"], rel=0.15 if type in ROUGH else 0.08)
