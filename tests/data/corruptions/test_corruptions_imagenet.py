"""At 224 pixels the corruptions are as strong as those of the published generator, on the same 24 photographs.

`published_imagenet.json` has the statistics of one run of the generator that ImageNet-C was made with. Where the mean
of 24 images is an accident of the draws, one run says little of it; so the file also has means and spreads over 24
seeds: of fog and frost by the generator's package `imagecorruptions` 1.1.2, of elastic transforms, which are others in
that package, by SciPy after their definition (2 and 3 with OpenCV). `benchmarks/corruption_strength.py --reference`
draws them again.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from real_sets import folder_or_skip

from tent.data.corrupted.corruption import FRAME
from tent.data.corruptions import CORRUPTIONS, corrupt
from tent.data.sets.folders import read_image

PUBLISHED = json.loads((Path(__file__).parent / "published_imagenet.json").read_text())
OVER_SEEDS = PUBLISHED["over_24_seeds"]
SEEDS = {"fog": 6, "frost": 4, "elastic_transform": 4}  # what ours is the mean of; others are the same for any seed
# where that one run lies more than 2 of 255 from ours; docs/corruptions.md says by how much, and why
BEYOND = {"frost": (1, 2, 3, 4, 5), "fog": (2, 3, 4, 5), "elastic_transform": (2,)}
EVERY = [(type, severity) for type in CORRUPTIONS for severity in range(1, 6)]

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def measure(real_data):
    folder = folder_or_skip(real_data, "imagenet-val5k")
    clean = np.stack([FRAME.shape(read_image(folder / file)) for file in PUBLISHED["images"]])

    def once(type, severity, seed):
        y = corrupt(clean, type, severity, seed=seed, frost="made").astype(np.float32)
        rms = np.sqrt(((y - clean) ** 2).mean(dtype=float))
        return [*y.mean((0, 1, 2), dtype=float), rms, np.abs(np.diff(y, axis=2)).mean(dtype=float)]

    @cache
    def over_seeds(type, severity):
        *mean, rms, roughness = np.mean([once(type, severity, seed) for seed in range(SEEDS.get(type, 1))], axis=0)
        return {"mean": mean, "rms": rms, "roughness": roughness}

    return over_seeds


def test_the_extract_covers_every_type_and_severity():
    assert [(type, int(level)) for type, levels in PUBLISHED["types"].items() for level in levels] == EVERY


@pytest.mark.parametrize(("type", "severity"), EVERY)
def test_strength_is_the_published_one(measure, type, severity):
    seen, published = measure(type, severity), PUBLISHED["types"][type][str(severity)]
    assert seen["rms"] == pytest.approx(published["rms"], rel=0.15 if type == "frost" else 0.08)
    # one run of the generator lies so far from its own mean over seeds
    spread = OVER_SEEDS[type][str(severity)]["spread"] if severity in BEYOND.get(type, ()) else 0
    assert (np.abs(np.subtract(seen["mean"], published["mean"])) <= np.maximum(2, np.multiply(2.5, spread))).all()
    assert seen["roughness"] == pytest.approx(published["roughness"], rel=0.08)


@pytest.mark.parametrize(
    ("type", "severity"), [(type, int(level)) for type in OVER_SEEDS for level in OVER_SEEDS[type]]
)
def test_over_seeds_the_mean_is_the_published_one(measure, type, severity):
    seen, published = measure(type, severity), OVER_SEEDS[type][str(severity)]
    np.testing.assert_allclose(seen["mean"], published["mean"], atol=2)
    assert seen["rms"] == pytest.approx(published["rms"], rel=0.08)
