"""What holds for every type: shape, range, determinism, independence of the batch, and errors in one line."""

import tracemalloc

import numpy as np
import pytest
import torch
from corruption_images import natural
from hypothesis import given, settings
from hypothesis import strategies as st

from tent.data import corruptions
from tent.data.corruptions import BENCHMARK, CORRUPTIONS, HELD_OUT, corrupt
from tent.data.corruptions.constants import CIFAR, IMAGENET

types = st.sampled_from(list(CORRUPTIONS))
severities = st.integers(1, 5)
benchmarks = st.sampled_from(["cifar", "imagenet"])
seeds = st.integers(0, 2**64 - 1)
few = settings(max_examples=60, deadline=None)


def test_exported_names():
    assert set(corruptions.__all__) == {"BENCHMARK", "CORRUPTIONS", "HELD_OUT", "corrupt"}
    assert BENCHMARK + HELD_OUT == tuple(CORRUPTIONS) == tuple(CIFAR) == tuple(IMAGENET)
    assert (len(BENCHMARK), len(HELD_OUT)) == (15, 4)
    assert all(len(five) == 5 for table in (CIFAR, IMAGENET) for five in table.values())


@few
@given(types, severities, benchmarks, seeds, st.integers(0, 3), st.integers(1, 40), st.integers(1, 40), st.booleans())
def test_any_size_keeps_shape_and_leaves_its_input_alone(type, severity, constants, seed, count, height, width, flat):
    x = np.full((count, height, width, 3), 7, np.uint8) if flat else natural(count, height, width, seed % 1000)
    before = x.copy()
    x.flags.writeable = False
    y = corrupt(x, type, severity, seed=seed, constants=constants, frost="made")
    assert y.shape == x.shape
    assert y.dtype == np.uint8
    assert y.flags.writeable
    assert not np.shares_memory(x, y)
    np.testing.assert_array_equal(x, before)


@few
@given(types, severities, benchmarks, seeds, st.integers(0, 2**40), st.data())
def test_an_image_alone_equals_the_same_image_in_a_batch(type, severity, constants, seed, start, data):
    height, width = data.draw(st.sampled_from([(32, 32), (17, 24), (5, 3)]))
    x = natural(6, height, width)
    options = {"seed": seed, "constants": constants, "frost": "made"}
    whole = corrupt(x, type, severity, start=start, **options)
    np.testing.assert_array_equal(whole, corrupt(x, type, severity, start=start, **options))
    cut = data.draw(st.integers(0, 6))
    parts = [corrupt(x[:cut], type, severity, start=start, **options)]
    parts.append(corrupt(x[cut:], type, severity, start=start + cut, **options))
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    order = data.draw(st.permutations(range(6)))
    mixed = corrupt(x[order], type, severity, index=[start + at for at in order], **options)
    np.testing.assert_array_equal(whole[order], mixed)


@pytest.fixture
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("type", CORRUPTIONS)
def test_pieces_and_threads_change_nothing(type, one_thread):
    x = natural(300, 32, 32)  # three pieces
    one = corrupt(x, type, 5, frost="made")
    torch.set_num_threads(3)
    three = corrupt(x, type, 5, frost="made")
    np.testing.assert_array_equal(one, three)
    for row in (0, 127, 128, 299):
        np.testing.assert_array_equal(one[row : row + 1], corrupt(x[row : row + 1], type, 5, start=row, frost="made"))


@pytest.mark.parametrize("type", CORRUPTIONS)
def test_seed_severity_and_index_draw_anew(images, type):
    same = np.repeat(images[:1], 2, axis=0)
    y = corrupt(same, type, 3, frost="made")
    other = corrupt(same, type, 3, seed=1, frost="made")
    fixed = {"contrast", "brightness", "saturate", "pixelate", "jpeg_compression"}
    random = type not in fixed | {"gaussian_blur", "defocus_blur", "zoom_blur"}
    assert (y[0] != y[1]).any() == random
    assert (y != other).any() == random
    assert (y != corrupt(same, type, 4, frost="made")).any()


# where one number of the constants grows and the others do not fall back; what is drawn is a value a pixel or nothing,
# so that a few images show it (motion_blur, fog and frost have tests of their own)
GROWING = ["gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "gaussian_blur", "defocus_blur"]
GROWING += ["brightness", "contrast", "pixelate", "jpeg_compression"]


@pytest.mark.parametrize(
    ("type", "constants"),
    [(type, constants) for type in GROWING for constants in ("cifar", "imagenet")] + [("zoom_blur", "cifar")],
)
@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6))
def test_strength_grows_with_severity(type, constants, seed):
    side = 32 if constants == "cifar" else 96
    x = natural(16 if constants == "cifar" else 3, side, side, seed)
    strengths = []
    for severity in range(1, 6):
        y = corrupt(x, type, severity, seed=seed, constants=constants)
        strengths.append(((y.astype(float) - x) ** 2).mean())
    assert strengths == sorted(strengths)
    assert strengths[0] < strengths[-1]


def test_size_chooses_the_constants(images):
    large = natural(1, 65, 40)
    for x, constants in ((images, "cifar"), (large, "imagenet")):
        np.testing.assert_array_equal(corrupt(x, "contrast", 2), corrupt(x, "contrast", 2, constants=constants))
    assert (corrupt(large, "contrast", 2) != corrupt(large, "contrast", 2, constants="cifar")).any()


@pytest.mark.parametrize("type", CORRUPTIONS)
def test_memory_does_not_grow_with_the_batch(type, one_thread):
    extra = []
    for count in (256, 768):
        x = np.zeros((count, 32, 32, 3), np.uint8)
        corrupt(x[:8], type, 5, frost="made")
        tracemalloc.start()
        corrupt(x, type, 5, frost="made")
        extra.append(tracemalloc.get_traced_memory()[1] - x.nbytes)  # beyond the result
        tracemalloc.stop()
    assert extra[1] < 1.1 * extra[0]


def test_a_mapped_file_is_read_in_place(tmp_path, images):
    np.save(tmp_path / "x.npy", images)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    y = corrupt(mapped, "glass_blur", 5)
    assert type(y) is np.ndarray
    np.testing.assert_array_equal(y, corrupt(images, "glass_blur", 5))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": "rain"}, "'rain'"),
        ({"severity": 0}, "from 1 to 5, not 0"),
        ({"severity": 6}, "not 6"),
        ({"severity": 2.0}, "not 2.0"),
        ({"severity": True}, "not True"),
        ({"seed": -1}, "not -1"),
        ({"seed": 2**64}, "the seed"),
        ({"start": -3}, "not -3"),
        ({"index": [0]}, "one whole number"),
        ({"index": [-1] * 8}, "one whole number"),
        ({"index": [0.5] * 8}, "one whole number"),
        ({"constants": "svhn"}, "'svhn'"),
        ({"images": np.zeros((2, 8, 8, 3), np.float32)}, "float32"),
        ({"images": torch.zeros(2, 8, 8, 3)}, "Tensor"),
        ({"images": np.zeros((8, 8, 3), np.uint8)}, "(8, 8, 3)"),
        ({"images": np.zeros((2, 3, 8, 8), np.uint8)}, "(2, 3, 8, 8)"),
        ({"images": np.zeros((2, 0, 8, 3), np.uint8)}, "(2, 0, 8, 3)"),
    ],
)
def test_what_cannot_be_done_is_one_line(images, change, words):
    asked = {"images": images, "type": "snow", "severity": 1} | change
    with pytest.raises(ValueError, match=r".") as refused:
        corrupt(asked.pop("images"), asked.pop("type"), asked.pop("severity"), **asked)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
