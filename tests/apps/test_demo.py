"""The demo is the real run: shipped weights, shipped images, corruptions made on the spot."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from command import tent
from pages import ROOT, blocks
from PIL import Image

from tent.apps.demo import CALL, FIVE, LR, Demo, corruption_types, demo
from tent.apps.poster import draw_poster
from tent.data.corruptions import BENCHMARK
from tent.data.sample import sample
from tent.data.sets.arrays import ArrayImages
from tent.data.sets.images import Images


def plain(batches, what, count):  # type: ignore[no-untyped-def]
    return batches


def test_the_sample_is_balanced_and_named() -> None:
    images = sample()
    assert len(images) == 2000
    assert np.bincount(images.labels).tolist() == [200] * 10
    assert images.class_names[3] == "cat"
    folder = Path(__file__).parents[2] / "src/tent/data/sample"
    assert sum(path.stat().st_size for path in folder.glob("cifar10.*")) <= 4_000_000
    assert "CIFAR-10 test set" in (folder / "cifar10.json").read_text()


@pytest.mark.real_data
def test_the_sample_is_the_first_200_of_each_class(real_data: Path) -> None:
    pixels, labels = (
        np.load(real_data / "cifar10" / f"test_{part}.npy", mmap_mode="r") for part in ("images", "labels")
    )
    first = np.sort(np.concatenate([np.flatnonzero(labels == c)[:200] for c in range(10)]))
    images = sample()
    assert np.array_equal(images.fetch(np.arange(2000)), pixels[first])
    assert np.array_equal(images.labels, labels[first])


@pytest.mark.slow  # the five types are run by `make wheel-test` too, and held to README
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("full", "kinds"), [(False, FIVE), (True, BENCHMARK)], ids=["five", "fifteen"])
def test_tent_beats_bn_beats_source_on_the_mean_of_the_types(
    tmp_path: Path, full: bool, kinds: tuple[str, ...]
) -> None:
    found = demo(plain, 0, corruption_types(full))
    assert tuple(found.evaluations["Tent"].by_domain) == kinds
    source, bn, adapted = (found.mean(name) for name in ("source", "BN", "Tent"))
    assert bn < source - 0.05
    assert adapted < bn - 0.005
    five = [np.mean([100 * found.error(name, kind) for kind in FIVE]) for name in ("source", "BN", "Tent")]
    assert [round(mean, 1) for mean in five] == [52.4, 24.9, 23.2]  # what `tent demo` prints
    check_readme(found, five)
    assert found.evaluations["Tent"].counts["updates"] == 16 * len(kinds)
    draw_poster(found, tmp_path / "demo.png")
    with Image.open(tmp_path / "demo.png") as picture:
        assert picture.size[0] > 1000


def check_readme(found: Demo, five: list[float]) -> None:
    """README's snippet is what the demo runs and says that it ran, and its numbers are the demo's."""
    page, words = blocks("README.md")[0], (ROOT / "README.md").read_text(encoding="utf-8").replace("\n", " ")
    assert f"adapted = {CALL}\n" in page
    assert f"Tent is {CALL}: Adam {LR:g}" in found.protocol
    assert f"Tent is `{CALL}`: Adam" in words
    source, bn, adapted = (f"{mean:.1f}%" for mean in five)
    assert f"Mean error: {source} for the model as trained, {bn} with the statistics" in words
    assert f"(BN), {adapted} with Tent." in words
    promised, before = re.findall(r"# ([\d.]+)%; as trained, ([\d.]+)%", page)[0]
    assert f"{found.error('source', 'fog'):.1%}" == f"{before}%"
    assert abs(100 * found.error("Tent", "fog") - float(promised)) < 0.11  # threads round differently


def test_the_command_says_where_its_picture_cannot_go(tmp_path: Path) -> None:
    ran = tent(tmp_path, "demo", "--out", "no/where.png")
    assert ran.returncode == 2
    assert ran.stderr.strip() == "tent: no/where.png: its folder does not exist; create it first"


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (".", ".: is a folder; name a file"),
        ("demo.xyz", "demo.xyz: pictures are written as "),
    ],
)
def test_the_command_says_so_before_the_work(tmp_path: Path, out: str, message: str) -> None:
    ran = tent(tmp_path, "demo", "--out", out)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"tent: {message}")
    assert len(ran.stderr.splitlines()) == 1


def test_without_matplotlib_the_table_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("tent.apps.demo.sample", lambda: few(sample()))
    ran = tent(tmp_path, "demo", "--device", "cpu", "--precision", "bfloat16")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == "warning: no picture is drawn: plots need matplotlib: pip install 'tent-tta[bench]'\n"
    assert "jpeg compression" in ran.stdout
    assert "bfloat16" in ran.stdout
    assert not list(tmp_path.iterdir())


def few(images: Images) -> Images:
    return ArrayImages("a few", np.asarray(images.fetch(np.arange(8))), images.labels[:8], 10, images.class_names)


@pytest.mark.parametrize(
    ("option", "message"),
    [("--device", "no device 'tpu' here; choose cpu"), ("--precision", "precision must be one of")],
)
def test_what_the_machine_has_not_is_one_line(tmp_path: Path, option: str, message: str) -> None:
    ran = tent(tmp_path, "demo", option, "tpu")
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"tent: {message}")
    assert len(ran.stderr.splitlines()) == 1


def test_the_five_are_of_the_fifteen() -> None:
    assert set(FIVE) < set(BENCHMARK)
    assert corruption_types(False) is FIVE
