"""ImageNet-C without a copy on disk: each image is its own, whatever batch, thread or process reads it."""

import dataclasses
import json
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import made
import numpy as np
import pytest
from command import tent as run
from PIL import Image
from torch import nn

from tent.apps.run_data import DataChoice
from tent.bench.execute.inputs import Part
from tent.data import Preprocess, Stream, crop_cache, load
from tent.data.corrupted import corrupted_folders
from tent.data.corrupted.corrupted_images import CorruptedImages
from tent.data.corrupted.corruption import FRAME, Corruption
from tent.data.corruptions import corrupt, frost
from tent.data.order import Stored
from tent.data.sets import catalog
from tent.models.entry import Entry

INDEX = {"0": ["n02", "great_cat"], "1": ["n01", "crane"], "2": ["n03", "crane"]}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name in ("imagenet", "imagenet-c", "imagenet-val5k", "imagenet-val5k-c"):
        monkeypatch.setitem(catalog.SETS, name, dataclasses.replace(catalog.SETS[name], classes=3))


@pytest.fixture
def photographs(root: Path) -> Path:
    folder = root / "imagenet-val5k"
    for number in range(3):
        for place in range(2):
            pixels = made.pixels(30 + number, 40, 3, seed=2 * number + place).repeat(9, 0).repeat(9, 1)
            made.image_file(folder / f"000{number}" / f"{place}.JPEG", pixels)
    (folder / "classes.json").write_text(json.dumps(INDEX))
    return folder


def test_the_clean_set_is_numbered_and_named(photographs):
    images = load("imagenet-val5k")
    assert images.name == "imagenet-val5k val (6 of the published 5,000 images)"
    assert images.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert images.class_names == ("great cat", "crane (n01)", "crane (n03)")
    assert images.class_ids == ("n02", "n01", "n03")
    (photographs / "classes.json").write_text("[1]")
    with pytest.raises(ValueError, match=r"classes\.json: not an index of classes"):
        load("imagenet-val5k")
    (photographs / "classes.json").unlink()
    assert load("imagenet-val5k").class_names == ("0000", "0001", "0002")
    (photographs / "0001").rename(photographs / "other")
    with pytest.raises(ValueError, match="its folders are not 0 to 2; bring it by hand: ILSVRC2012_img_val_subset of"):
        load("imagenet-val5k")


def test_an_image_is_framed_corrupted_by_its_own_draws_and_stored_as_jpeg(photographs, root):
    images = load("imagenet-val5k-c", corruption="gaussian_noise", severity=3)
    assert (images.extent, images.cropped, images.classes) == ((224, 224), True, 3)
    assert images.class_names == ("great cat", "crane (n01)", "crane (n03)")
    clean = FRAME.shape(np.asarray(Image.open(photographs / "0002/0.JPEG")))
    noisy = corrupt(clean[None], "gaussian_noise", 3, start=4)[0]
    Image.fromarray(noisy).save(root / "file.jpg", quality=85, optimize=True)
    (seen,) = images.fetch(np.array([4]))
    assert np.array_equal(seen, np.asarray(Image.open(root / "file.jpg")))
    assert not np.array_equal(seen, noisy)


def test_it_does_not_depend_on_batch_order_threads_or_the_cache(photographs, root, monkeypatch):
    images = load("imagenet-val5k-c", corruption="glass_blur", severity=1)
    whole = np.stack(images.fetch(np.arange(6)))
    for order in ([5, 0, 3], [3]):
        assert np.array_equal(np.stack(images.fetch(np.array(order))), whole[order])
    (file,) = (root / "cache").glob("*.npy")
    file.unlink()  # at any time
    assert np.array_equal(np.stack(images.fetch(np.arange(6))), whole)
    monkeypatch.setattr(crop_cache, "MOST", 5)
    again = load("imagenet-val5k-c", corruption="glass_blur", severity=1)
    assert np.array_equal(np.stack(again.fetch(np.arange(6))), whole)
    assert not list((root / "cache").glob("*.npy"))
    assert np.array_equal(np.stack(pickle.loads(pickle.dumps(images)).fetch(np.arange(6))), whole)


def test_crops_are_decoded_once(photographs, root, monkeypatch):
    load("imagenet-val5k-c", corruption="contrast").fetch(np.arange(1))
    monkeypatch.setattr(crop_cache, "read_image", None)
    load("imagenet-val5k-c", corruption="brightness").fetch(np.arange(6))
    (file,) = (root / "cache").glob("*.npy")
    assert np.load(file, mmap_mode="r").shape == (6, 224, 224, 3)


def test_two_readers_write_the_crops_once(photographs, monkeypatch):
    written, write = [], crop_cache._write
    monkeypatch.setattr(crop_cache, "_write", lambda *given: (written.append(1), write(*given)))
    sets = [load("imagenet-val5k-c", corruption="contrast") for _ in range(4)]
    threads = [threading.Thread(target=each.fetch, args=(np.arange(6),)) for each in sets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert written == [1]


def test_a_broken_photograph_is_named_at_once_and_can_be_left_out(photographs, root):
    file = photographs / "0001" / "0.JPEG"
    file.write_bytes(file.read_bytes()[:-500])
    with pytest.raises(ValueError, match=r"0\.JPEG: not a whole image .*truncated"):
        load("imagenet-val5k-c", corruption="contrast").fetch(np.array([0, 1]))  # whole ones, but not all are
    assert not list((root / "cache").glob("*.npy"))
    assert "0.JPEG: not a whole image" in run(root, *MAKE).stderr
    images = load("imagenet-val5k-c", corruption="contrast")
    images.skips = True
    assert [y.tolist() for _, y, _ in Stream(images, 6, Stored(), FRAME)] == [[0, 0, 1, 2, 2]]


def test_a_full_disk_is_a_warning(photographs, monkeypatch):
    def fill(*given):
        raise OSError(28, "No space left on device")

    whole = load("imagenet-val5k-c", corruption="contrast").fetch(np.arange(2))
    monkeypatch.setattr(crop_cache.Path, "is_file", lambda path, of=Path.is_file: path.suffix != ".npy" and of(path))
    monkeypatch.setattr(crop_cache, "_write", fill)
    with pytest.warns(UserWarning, match="its crops are not kept, so each pass decodes all files .*No space left"):
        seen = load("imagenet-val5k-c", corruption="contrast").fetch(np.arange(2))
    assert np.array_equal(np.stack(seen), np.stack(whole))


def test_a_broken_photograph_ends_a_benchmark_in_one_line(photographs, root, monkeypatch):
    file = photographs / "0001" / "0.JPEG"
    file.write_bytes(file.read_bytes()[:-500])
    net = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.BatchNorm1d(3))
    monkeypatch.setattr("tent.models.zoo.load", lambda *given: Entry("net", net, FRAME, 3))
    ran = run(root, "bench", "imagenet-val5k-c", "--rows", "Source")
    assert ran.returncode == 2
    started, error = ran.stderr.splitlines()
    assert started.startswith("15 cases, 0 of them there")
    assert "0.JPEG: not a whole image" in error
    assert not list((root / "results").glob("*.json"))


def test_its_name_and_hash_say_how_it_was_made(photographs, monkeypatch, root):
    images = load("imagenet-val5k-c", corruption="fog", severity=2)
    assert images.name.startswith("imagenet-val5k-c fog severity 2 (made on the fly by tent ")
    assert images.name.endswith(", seed 0)")
    clean = load("imagenet-val5k")
    how = [Corruption("fog", 2, frame=FRAME, quality=85), Corruption("fog", 2, seed=1), Corruption("fog", 3)]
    hashes = [CorruptedImages("x", clean, each).sha256 for each in how]
    assert hashes[0] == images.sha256
    assert len({clean.sha256, *hashes}) == 4
    monkeypatch.setattr("tent.data.corruptions.constants.GENERATION", 99)
    assert CorruptedImages("x", clean, how[0]).sha256 != images.sha256
    monkeypatch.setattr(frost, "find_installed_photographs", lambda: None)
    drawn = load("imagenet-val5k-c", corruption="frost").sha256
    made.image_file(root / "frost" / "frost1.png", made.pixels(64, 64, 3))
    monkeypatch.setattr(frost, "find_installed_photographs", lambda: root / "frost")
    assert load("imagenet-val5k-c", corruption="frost").sha256 != drawn


def test_any_folder_of_images_can_be_corrupted(tmp_path):
    made.image_file(tmp_path / "cat" / "a.png", made.pixels(40, 50, 3))
    images = CorruptedImages("cats in fog", load(f"folder:{tmp_path}"), Corruption("fog", 1))
    (seen,) = images.fetch(np.array([0]))
    assert np.array_equal(seen, corrupt(made.pixels(40, 50, 3)[None], "fog", 1, constants="imagenet")[0])
    assert (images.extent, images.cropped, images.where(0)) == (None, False, "cat/a.png")


def test_a_published_folder_is_used_where_it_is_there(root):
    for name in ("n01", "n02", "n03"):
        made.image_file(root / "imagenet" / "val" / name / "a.JPEG", made.pixels(300, 260, 3))
        made.image_file(root / "ImageNet-C" / "fog" / "5" / name / "a.JPEG", made.pixels(224, 224, 3))
    published, own = (load("imagenet-c", corruption="fog", severity=severity) for severity in (5, 4))
    assert published.name == "imagenet-c fog severity 5 (3 of the published 50,000 images)"
    assert published.cropped
    assert published.sha256 != load(f"folder:{root / 'ImageNet-C' / 'fog' / '5'}").sha256  # which would be cropped
    assert "made on the fly" in own.name
    assert own.class_names == published.class_names == ("n01", "n02", "n03")
    assert np.array_equal(own.labels, published.labels)
    assert own.sha256 != published.sha256


def test_without_clean_images_it_says_what_to_do(root):
    with pytest.raises(
        FileNotFoundError, match="get it with: tent data get imagenet-c or make it with: tent data make"
    ):
        load("imagenet-c", corruption="fog")
    with pytest.raises(ValueError, match="needs a corruption, not None; there: none yet"):
        load("imagenet-val5k-c")


def test_a_type_that_does_not_exist_is_one_line(photographs):
    with pytest.raises(ValueError, match="no corruption is called 'rain'; choose one of gaussian_noise, "):
        load("imagenet-val5k-c", corruption="rain")
    with pytest.raises(ValueError, match="needs a corruption, not None; there: gaussian_noise, shot_noise, "):
        load("imagenet-val5k-c")


def test_labels_are_matched_by_synset_where_names_come_twice(photographs):
    model = Entry("net", nn.Identity(), FRAME, 3, ["crane", "crane", "great cat, cat"], class_ids=["n01", "n03", "n02"])
    images = load("imagenet-val5k-c", corruption="fog")
    DataChoice("imagenet-val5k-c").match_labels(images, model, 3)
    assert images.labels.tolist() == [2, 2, 0, 0, 1, 1]


def test_labels_are_matched_by_name_where_the_model_has_no_synsets(photographs):
    (photographs / "classes.json").write_text(json.dumps({**INDEX, "2": ["n03", "dog"]}))
    model = Entry("net", nn.Identity(), FRAME, 3, ["dog", "great cat", "crane"])
    images = load("imagenet-val5k-c", corruption="fog")
    DataChoice("imagenet-val5k-c").match_labels(images, model, 3)
    assert images.labels.tolist() == [1, 1, 2, 2, 0, 0]


@pytest.mark.parametrize(("preprocess", "side"), [(Preprocess(256, 224), 224), (Preprocess(274, 240), 240)])
def test_crops_are_not_cropped_again(photographs, preprocess, side):
    images = load("imagenet-val5k-c", corruption="contrast", severity=1)
    expected = Preprocess(size=(side, side))(images.fetch(np.arange(2)))
    for data in (images, Part(images, 0, 0, 6)):
        stream = Stream(data, 6, Stored(), preprocess)
        x = next(iter(stream)).inputs
        assert x.shape == (6, 3, side, side)
        assert f"resized to {side}x{side} (bilinear), scaled" in stream.protocol
        assert stream.preprocess.words in stream.protocol
    assert np.array_equal(next(iter(Stream(images, 2, Stored(), preprocess))).inputs, expected)


MAKE = ("data", "make", "imagenet-val5k-c", "--types", "gaussian_noise", "--severities", "2")


def test_the_files_that_are_made_are_what_is_read_on_the_fly(photographs, root):
    own = load("imagenet-val5k-c", corruption="gaussian_noise", severity=2)
    expected = np.stack(own.fetch(np.arange(6)))
    ran = run(root, *MAKE)
    assert "made gaussian_noise/2" in ran.stdout, ran.stderr
    images = load("imagenet-val5k-c", corruption="gaussian_noise", severity=2)
    assert type(images) is not type(own)
    assert "made by tent" in images.name
    assert images.where(3) == "0001/1.JPEG"
    assert images.cropped
    assert images.class_names == own.class_names
    assert np.array_equal(np.stack(images.fetch(np.arange(6))), expected)
    assert "gaussian_noise" not in str(catalog.get_set("imagenet-val5k-c").pieces_in(root / "imagenet-val5k-c"))
    assert "already there" in run(root, *MAKE).stdout


def test_processes_make_the_same_files(photographs, root, monkeypatch):
    run(root, *MAKE)
    folder = root / "imagenet-val5k-c" / "gaussian_noise"
    before = {path.name + path.parent.name: path.read_bytes() for path in folder.rglob("*.JPEG")}
    shutil.rmtree(folder)
    monkeypatch.setattr(corrupted_folders, "CHUNK", 3)
    assert run(root, *MAKE, "--workers", "2").returncode == 0
    assert {path.name + path.parent.name: path.read_bytes() for path in folder.rglob("*.JPEG")} == before


def test_what_is_made_in_part_is_refused_and_finished(photographs, root):
    run(root, *MAKE)
    folder = root / "imagenet-val5k-c" / "gaussian_noise" / "2"
    file = folder / "0001" / "1.JPEG"
    before = file.read_bytes()
    file.unlink()
    again = "tent data make imagenet-val5k-c --types gaussian_noise --severities 2"
    with pytest.raises(ValueError, match=f"5 of its 6 images are made; make the rest with: {again}"):
        load("imagenet-val5k-c", corruption="gaussian_noise", severity=2)
    others = {path: path.stat().st_mtime_ns for path in folder.rglob("*.JPEG")}
    assert run(root, *MAKE).returncode == 0
    assert file.read_bytes() == before
    assert all(path.stat().st_mtime_ns == then for path, then in others.items())


def test_files_of_another_generator_are_not_continued(photographs, root, monkeypatch):
    run(root, *MAKE)
    (root / "imagenet-val5k-c" / "gaussian_noise" / "2" / "0001" / "1.JPEG").unlink()
    monkeypatch.setattr("tent.data.corruptions.constants.GENERATION", 99)
    refused = run(root, *MAKE)
    assert refused.returncode == 2
    assert "was made with generation 1, not 99; delete it first to make it again" in refused.stderr


def test_a_published_folder_is_never_made_over(root, photographs):
    file = made.image_file(root / "imagenet-val5k-c/fog/1/0000/own.JPEG", made.pixels(224, 224, 3))
    ran = run(root, "data", "make", "imagenet-val5k-c", "--types", "fog", "--severities", "1")
    assert "already there" in ran.stdout
    assert [path for path in (root / "imagenet-val5k-c").rglob("*") if path.is_file()] == [file]


KILLED = """
import dataclasses, os, signal
from pathlib import Path

from tent.cli import main
from tent.data.sets import catalog

for name in ("imagenet-val5k", "imagenet-val5k-c"):
    catalog.SETS[name] = dataclasses.replace(catalog.SETS[name], classes=3)


def write_half(path, text, **options):
    path.write_bytes(text[: len(text) // 2].encode())
    os.kill(os.getpid(), signal.SIGKILL)


Path.write_text = write_half
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_run_that_is_killed_over_its_card_is_made_again(photographs, root):
    killed = subprocess.run([sys.executable, "-c", KILLED, *MAKE], check=False, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    folder = root / "imagenet-val5k-c" / "gaussian_noise" / "2"
    assert [path.name.partition(".json.")[0] for path in folder.iterdir()] == [".made"]
    assert "made on the fly" in load("imagenet-val5k-c", corruption="gaussian_noise", severity=2).name
    assert "made gaussian_noise/2" in run(root, *MAKE).stdout
    assert not list(folder.rglob(".*"))
    assert "made by tent" in load("imagenet-val5k-c", corruption="gaussian_noise", severity=2).name


def test_what_a_killed_run_left_half_written_is_removed(photographs, root):
    run(root, *MAKE)
    folder = root / "imagenet-val5k-c" / "gaussian_noise" / "2"
    shutil.rmtree(folder / "0002")
    (folder / "0001" / ".1.JPEG.half.making").touch()
    (folder / "0001" / "1.JPEG").unlink()
    again = "tent data make imagenet-val5k-c --types gaussian_noise --severities 2"
    with pytest.raises(ValueError, match=f"3 of its 6 images are made; make the rest with: {again}"):
        load("imagenet-val5k-c", corruption="gaussian_noise", severity=2)
    assert run(root, *MAKE).returncode == 0
    assert not list(folder.rglob(".*"))
    assert len(load("imagenet-val5k-c", corruption="gaussian_noise", severity=2)) == 6


def test_an_empty_folder_is_made_on_the_fly(photographs, root):
    (root / "imagenet-val5k-c" / "fog" / "5").mkdir(parents=True)
    assert "made on the fly" in load("imagenet-val5k-c", corruption="fog", severity=5).name
