import json
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import made
import numpy as np
import pytest

import tent
from tent.data import load
from tent.data.make import make
from tent.data.sets import catalog

N = 1100  # more than two chunks


@pytest.fixture
def clean(root):
    images, labels = made.pixels(N, 4, 4, 3), np.arange(N) % 10
    made.arrays(root / "cifar10", "test", images, labels)
    made.arrays(root / "cifar100", "test", images, labels)
    return images


@pytest.fixture
def calls(monkeypatch):
    """A stand-in for the corruptions that writes down who was asked for what."""
    asked = []

    def corrupt(images, type, severity, *, seed=0, start=0, constants=None, frost=None):
        asked.append((type, severity, seed, start, len(images), frost))
        numbers = (np.arange(start, start + len(images)) * 7 + severity * 31 + seed + len(type)) % 256
        return images ^ numbers.astype(np.uint8)[:, None, None, None]

    module = types.ModuleType("tent.data.corruptions")
    module.BENCHMARK, module.HELD_OUT, module.corrupt = ("fog", "frost"), ("spatter",), corrupt
    monkeypatch.setitem(sys.modules, "tent.data.corruptions", module)
    return asked


def expected(images, type_, severity, seed=0):
    return images ^ ((np.arange(N) * 7 + severity * 31 + seed + len(type_)) % 256).astype(np.uint8)[:, None, None, None]


@pytest.mark.parametrize("name", ["cifar10-c", "cifar100-c"])
def test_the_benchmark_in_its_published_layout(root, clean, calls, name):
    assert make(catalog.get_set(name), root) == ("fog.npy", "frost.npy")
    folder = root / name
    array = np.load(folder / "fog.npy")
    assert (array.shape, array.dtype) == ((5 * N, 4, 4, 3), np.uint8)
    for severity in range(1, 6):
        assert np.array_equal(array[(severity - 1) * N : severity * N], expected(clean, "fog", severity))
    assert np.array_equal(np.load(folder / "labels.npy"), np.tile(np.arange(N) % 10, 5))
    images = load(name, corruption="fog", severity=3)
    assert np.array_equal(images.fetch(np.arange(N)), expected(clean, "fog", 3))
    assert images.name.endswith(f"(made by tent {tent.__version__}, seed 0)")
    assert sorted(path.name for path in folder.iterdir()) == [
        *("fog.made.json", "fog.npy", "frost.made.json", "frost.npy", "labels.npy")
    ]


def test_what_is_whole_is_left_alone(root, clean, calls):
    make(catalog.get_set("cifar10-c"), root, ["fog"])
    before, count = (root / "cifar10-c" / "fog.npy").stat().st_mtime_ns, len(calls)
    assert make(catalog.get_set("cifar10-c"), root, ["fog", "spatter"]) == ("spatter.npy",)
    assert (root / "cifar10-c" / "fog.npy").stat().st_mtime_ns == before
    assert {call[0] for call in calls[count:]} == {"spatter"}


def test_some_severities_are_files_of_their_own(root, clean, calls):
    assert make(catalog.get_set("cifar10-c"), root, ["fog"], [5, 3]) == ("fog_3.npy", "fog_5.npy")
    assert np.array_equal(load("cifar10-c", corruption="fog").fetch(np.arange(N)), expected(clean, "fog", 5))
    assert make(catalog.get_set("cifar10-c"), root, ["fog"], [5]) == ()
    make(catalog.get_set("cifar10-c"), root, ["fog"])
    assert make(catalog.get_set("cifar10-c"), root, ["fog"], [1]) == ()


def test_training_images_have_a_folder_and_draws_of_their_own(root, clean, calls):
    images, labels = made.pixels(600, 4, 4, 3), np.arange(600) % 10
    made.arrays(root / "cifar10", "train", images, labels)
    assert make(catalog.get_set("cifar10-c"), root, ["fog"], [5], split="train") == ("fog_5.npy",)
    assert [path.name for path in (root / "cifar10-c").glob("[!.]*")] == ["train"]
    assert sorted(call[3] for call in calls) == [1_000_000, 1_000_500]
    found = load("cifar10-c", "train", corruption="fog")
    assert found.name.startswith("cifar10-c train fog severity 5")
    assert found.labels.tolist() == labels.tolist()
    with pytest.raises(FileNotFoundError, match="data make cifar10-c --split train --types frost --severities 3"):
        load("cifar10-c", "train", corruption="frost", severity=3)
    with pytest.raises(FileNotFoundError, match="get it with: tent data get cifar10-c or make it"):
        load("cifar10-c", corruption="fog")
    with pytest.raises(ValueError, match="split 'val': choose from test, train"):
        make(catalog.get_set("cifar10-c"), root, ["fog"], split="val")


def test_seed_and_photographs_reach_the_corruption(root, clean, calls):
    make(catalog.get_set("cifar10-c"), root, ["fog", "frost"], [1], seed=9, frost="photos")
    assert {(call[0], call[2], call[5]) for call in calls} == {("fog", 9, None), ("frost", 9, "photos")}
    assert sorted(call[3] for call in calls if call[0] == "fog") == [0, 500, 1000]
    card = json.loads((root / "cifar10-c" / "frost_1.made.json").read_text())
    assert card == {"tent": tent.__version__, "seed": 9, "severities": [1], "frost": "photos"}


def test_progress_counts_up_to_all_images(root, clean, calls):
    said = []
    make(catalog.get_set("cifar10-c"), root, severities=[1, 2], progress=lambda *about: said.append(about))
    assert said[-1] == ("making frost_2.npy", 4 * N, 4 * N)
    assert [done for _, done, _ in said] == sorted(done for _, done, _ in said)


def test_a_run_that_fails_leaves_no_file(root, clean, calls, monkeypatch):
    module = sys.modules["tent.data.corruptions"]
    real = module.corrupt

    def broken(images, type, severity, **options):
        if severity == 4:
            raise RuntimeError("stop")
        return real(images, type, severity, **options)

    monkeypatch.setattr(module, "corrupt", broken)
    with pytest.raises(RuntimeError, match="stop"):
        make(catalog.get_set("cifar10-c"), root, ["fog"])
    assert [path.name for path in (root / "cifar10-c").iterdir()] == ["labels.npy"]


KILLED = """
import sys, types, time
module = types.ModuleType("tent.data.corruptions")
def corrupt(images, type, severity, **options):
    if type == "frost" and severity == 3:
        print("now", flush=True)
        time.sleep(60)
    return images
module.BENCHMARK, module.HELD_OUT, module.corrupt = ("fog", "frost"), (), corrupt
sys.modules["tent.data.corruptions"] = module
from tent.data.data_folder import data_folder
from tent.data.sets import catalog
from tent.data.make import make
make(catalog.get_set("cifar10-c"), data_folder())
"""


def test_a_killed_run_goes_on_where_it_was(root, clean, calls):
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, env=dict(os.environ)) as run:
        run.stdout.readline()
        run.send_signal(signal.SIGKILL)
    folder = root / "cifar10-c"
    assert (folder / "fog.npy").is_file()
    assert not (folder / "frost.npy").exists()
    assert make(catalog.get_set("cifar10-c"), root) == ("frost.npy",)
    assert np.array_equal(load("cifar10-c", corruption="frost").fetch(np.arange(N)), expected(clean, "frost", 5))
    assert not list(folder.glob(".*"))


def test_files_that_are_there_but_wrong_are_errors(root, clean, calls):
    about, folder = catalog.get_set("cifar10-c"), root / "cifar10-c"
    make(about, root, ["fog"])
    with pytest.raises(ValueError, match=r"fog\.npy was made with seed 0, not 1; delete it"):
        make(about, root, ["fog"], seed=1)
    whole = (folder / "fog.npy").read_bytes()
    (folder / "fog.npy").write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=r"fog\.npy: not a whole plain"):
        make(about, root, ["fog"])
    np.save(folder / "fog.npy", made.pixels(10, 4, 4, 3))
    with pytest.raises(ValueError, match=r"fog\.npy: 10 images where 5,500 belong"):
        make(about, root, ["fog"])
    np.save(folder / "labels.npy", np.zeros(5 * N, dtype=np.int64))
    with pytest.raises(ValueError, match=r"labels\.npy: not the labels of the clean images"):
        make(about, root, ["fog"])


def test_a_published_file_is_left_alone_whatever_the_seed(root, clean, calls):
    folder = root / "CIFAR-10-C"
    folder.mkdir()
    np.save(folder / "fog.npy", made.pixels(5 * N, 4, 4, 3, seed=3))
    assert make(catalog.get_set("cifar10-c"), root, ["fog"], seed=5) == ()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"types": ["rain"]}, "no corruption is called 'rain'; there are fog, frost, spatter"),
        ({"severities": [0]}, "severity 0"),
        ({"workers": 0}, "workers 0"),
    ],
)
def test_what_makes_no_sense_is_refused(root, clean, calls, arguments, said):
    with pytest.raises(ValueError, match=said):
        make(catalog.get_set("cifar10-c"), root, **arguments)


def test_other_sets_are_not_made(root, calls):
    with pytest.raises(ValueError, match=r"mnist is not made here; cifar10-c, cifar100-c, imagenet-c, .* are"):
        make(catalog.get_set("mnist"), root)


def test_without_the_clean_images_it_says_how_to_get_them(root, calls):
    with pytest.raises(FileNotFoundError, match="tent data get cifar10"):
        make(catalog.get_set("cifar10-c"), root)


def test_the_result_does_not_depend_on_the_workers(root, tmp_path):
    pytest.importorskip("tent.data.corruptions")
    images = made.pixels(1100, 32, 32, 3)
    made.arrays(root / "cifar10", "test", images, np.zeros(1100, dtype=np.int64))
    made.arrays(tmp_path / "cifar10", "test", images, np.zeros(1100, dtype=np.int64))
    about = catalog.get_set("cifar10-c")
    make(about, root, ["gaussian_noise"], [2], workers=2)
    make(about, tmp_path, ["gaussian_noise"], [2], workers=1)
    name = Path("cifar10-c", "gaussian_noise_2.npy")
    assert (root / name).read_bytes() == (tmp_path / name).read_bytes()
    assert not np.array_equal(np.load(root / name), images)
