import bz2
import gzip

import made
import numpy as np
import pytest

from tent.data.fetch.digit_files import read_idx, read_usps


def test_idx_gzipped_or_not(tmp_path):
    array = made.pixels(3, 28, 28)
    (tmp_path / "a.gz").write_bytes(made.idx(array))
    (tmp_path / "a").write_bytes(gzip.decompress(made.idx(array)))
    assert np.array_equal(read_idx(tmp_path / "a.gz"), array)
    assert np.array_equal(read_idx(tmp_path / "a"), array)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw[:-9],
        lambda raw: gzip.compress(gzip.decompress(raw)[:-1]),
        lambda raw: b"",
        lambda raw: b"\1" * 30,
    ],
)
def test_a_broken_idx_is_refused(tmp_path, spoil):
    (tmp_path / "a.gz").write_bytes(spoil(made.idx(made.pixels(3, 28, 28))))
    with pytest.raises(ValueError, match=r"a\.gz: not a whole idx file"):
        read_idx(tmp_path / "a.gz")


def test_usps_counts_its_digits_from_one_and_its_pixels_from_minus_one(tmp_path):
    images, labels = made.pixels(4, 16, 16, 1), np.array([0, 9, 5, 1])
    (tmp_path / "usps.bz2").write_bytes(made.usps(images, labels))
    got_images, got_labels = read_usps(tmp_path / "usps.bz2")
    assert np.array_equal(got_images, images)
    assert np.array_equal(got_labels, labels)


ROW = "1 " + " ".join(f"{i}:0.5" for i in range(1, 257))


@pytest.mark.parametrize(
    "text", ["", "1 1:0.5\n", ROW.replace("1 1:", "11 1:"), ROW.replace("7:0.5", "7:1.5"), ROW.replace("9:0.5", "9:x")]
)
def test_a_broken_usps_is_refused(tmp_path, text):
    (tmp_path / "usps.bz2").write_bytes(bz2.compress(text.encode()))
    with pytest.raises(ValueError, match=r"usps\.bz2: not USPS as published"):
        read_usps(tmp_path / "usps.bz2")


def test_a_truncated_usps_is_refused(tmp_path):
    (tmp_path / "usps.bz2").write_bytes(made.usps(made.pixels(4, 16, 16, 1), np.arange(4))[:-10])
    with pytest.raises(ValueError, match=r"usps\.bz2: not USPS as published"):
        read_usps(tmp_path / "usps.bz2")
