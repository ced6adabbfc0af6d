"""Crops that are kept are those that would be decoded: same bits, same hash, same words."""

import shutil

import made
import numpy as np
import pytest
import torch

from tent.bench.case import Case, Data
from tent.bench.execute.inputs import build_stream
from tent.data import Preprocess, Stream, crop_cache, load
from tent.data.corrupted.corrupted_images import CorruptedImages
from tent.data.corrupted.corruption import Corruption
from tent.data.crop_cache import KeptCrops, keep_crops
from tent.data.order import Shuffled
from tent.data.sets.folders import open_folder
from tent.models.entry import Entry

SEEN = Preprocess(size=48, crop=32, mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4), interpolation="bicubic")


@pytest.fixture
def photographs(tmp_path):
    for number in range(5):
        folder = tmp_path / "photographs" / ("cat", "dog")[number % 2]
        made.image_file(folder / f"{number}.jpg", made.pixels(50 + number, 70, 3, seed=number))
    return load(f"folder:{tmp_path / 'photographs'}")


def test_a_stream_of_kept_crops_has_the_bits_words_and_hash_of_the_files(photographs, tmp_path):
    kept = keep_crops(photographs, SEEN, tmp_path / "cache")
    assert isinstance(kept, KeptCrops)
    there, here = Stream(photographs, 2, preprocess=SEEN), Stream(kept, 2, preprocess=SEEN)
    for (x, y, _), (own, label, _) in zip(there, here, strict=True):
        assert torch.equal(x, own)
        assert torch.equal(y, label)
    assert here.protocol == there.protocol
    assert here.sha256 == there.sha256
    assert [here.where(place) for place in range(5)] == [there.where(place) for place in range(5)]
    assert kept.class_names == ("cat", "dog")
    assert not kept.decodes


def test_a_benchmark_keeps_the_crops_of_a_whole_set(photographs, tmp_path, monkeypatch):
    monkeypatch.setenv("TENT_DATA", str(tmp_path))
    name = f"folder:{tmp_path / 'photographs'}"
    entry = Entry("toy", torch.nn.Identity(), SEEN, 2)
    plain = Stream(photographs, 2, Shuffled(3), SEEN)
    for images, files in ((4, 0), (None, 1), (5, 1)):  # for a few of them not all are decoded
        case = Case("toy", (Data(name),), "source", images=images, batch_size=2, seed=3)
        stream = build_stream(case, case.data, entry)
        assert all(torch.equal(x, own) for (x, _, _), (own, _, _) in zip(plain, stream, strict=images is None))
        assert stream.sha256 == plain.sha256
        assert len(list((tmp_path / "cache").glob("crops-*.npy"))) == files


def test_other_files_of_the_same_names_and_lengths_have_crops_of_their_own(photographs, tmp_path):
    def fill(folder, value):
        made.image_file(folder / "0.bmp", np.full((50, 60, 3), value, np.uint8))
        return keep_crops(open_folder(folder), SEEN, tmp_path / "cache").fetch(np.arange(1)).mean()

    clean, fog = tmp_path / "clean", tmp_path / "fog"
    assert fill(clean, 10) == 10
    assert fill(fog, 200) == 200
    assert fill(clean, 30) == 30  # written over in place


def test_crops_that_are_there_need_no_disk_that_can_be_written_to(photographs, tmp_path, monkeypatch):
    keep_crops(photographs, SEEN, tmp_path / "cache")
    monkeypatch.setattr(crop_cache, "lock", None)
    assert isinstance(keep_crops(photographs, SEEN, tmp_path / "cache"), KeptCrops)


def test_a_photograph_that_is_gone_is_an_error_and_no_matter_of_the_disk(photographs, tmp_path):
    (tmp_path / "photographs" / "cat" / "2.jpg").unlink()
    with pytest.raises(FileNotFoundError, match=r"2\.jpg"):
        keep_crops(photographs, SEEN, tmp_path / "cache")


def test_crops_that_would_take_too_much_are_not_kept(photographs, tmp_path, monkeypatch):
    monkeypatch.setattr(crop_cache, "MOST", 5 * 32 * 32 * 3 - 1)
    assert keep_crops(photographs, SEEN, tmp_path / "cache") is photographs


def test_a_disk_without_room_for_the_crops_is_a_warning(photographs, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=5 * 32 * 32 * 3 + crop_cache.SPARE - 1))
    with pytest.warns(UserWarning, match="its crops are not kept.* 268.5 MB are needed"):
        assert keep_crops(photographs, SEEN, tmp_path / "cache") is photographs
    assert not list((tmp_path / "cache").glob("*.npy"))


def test_another_network_sees_kept_crops_of_its_own(photographs, tmp_path):
    other = Preprocess(size=(32, 40))
    first, second = (keep_crops(photographs, each, tmp_path / "cache") for each in (SEEN, other))
    assert len(list((tmp_path / "cache").glob("crops-*.npy"))) == 2
    assert not np.array_equal(first.fetch(np.arange(5)), second.fetch(np.arange(5)))
    darker = keep_crops(photographs, Preprocess(size=48, crop=32, interpolation="bicubic"), tmp_path / "cache")
    assert len(list((tmp_path / "cache").glob("crops-*.npy"))) == 2  # mean and deviation are none of its business
    assert np.array_equal(first.fetch(np.arange(5)), darker.fetch(np.arange(5)))


def test_crops_that_are_gone_are_written_again(photographs, tmp_path):
    before = keep_crops(photographs, SEEN, tmp_path / "cache").fetch(np.arange(5))
    for path in (tmp_path / "cache").glob("crops-*.npy"):
        path.unlink()
    assert np.array_equal(keep_crops(photographs, SEEN, tmp_path / "cache").fetch(np.arange(5)), before)


def test_other_sets_and_other_preprocessing_stay_as_they_are(photographs, tmp_path):
    fog = CorruptedImages("fog", photographs, Corruption("fog", 1))
    assert keep_crops(fog, SEEN, tmp_path / "cache") is fog
    assert keep_crops(photographs, Preprocess(size=48), tmp_path / "cache") is photographs  # sizes differ
    photographs.skips = True  # what cannot be read is left out of the stream, which an array cannot
    assert keep_crops(photographs, SEEN, tmp_path / "cache") is photographs
    assert not (tmp_path / "cache").exists()


def test_a_broken_photograph_is_named_and_leaves_no_crops(photographs, tmp_path):
    (tmp_path / "photographs" / "dog" / "1.jpg").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"1\.jpg: not a whole image"):
        keep_crops(photographs, SEEN, tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*.npy"))


def test_crops_that_were_kept_for_another_preprocessing_are_refused(photographs, tmp_path):
    kept = keep_crops(photographs, SEEN, tmp_path / "cache")
    Stream(kept, 2, preprocess=Preprocess(size=48, crop=(32, 32), interpolation="bicubic"))  # mean is none of theirs
    for other in (Preprocess(size=40, crop=32, interpolation="bicubic"), None):
        with pytest.raises(ValueError, match=r"its crops were kept for another preprocessing .*keep_crops\(\)"):
            Stream(kept, 2, preprocess=other)
