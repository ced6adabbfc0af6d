"""`tent adapt` on pixels: what its options choose is what is run."""

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command import Ran, tent
from PIL import Image

import tent as library

NETS = """
import torch
from torch import nn

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 6, 3, 2, 1), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 3, 3, 2, 1),
                         nn.BatchNorm2d(3))
"""


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    for i in range(3):
        pixels = random.integers(0, 256, (24, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "images" / f"{i}.png")
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path


def run(folder: Path, *more: str, panels: int = 0) -> Ran:
    fixed = ("--mean", "0.5", "--std", "0.2", "--out", "out", "--panels", str(panels))
    return tent(folder, "adapt", "nets.py:net", "images", *fixed, *more)


def load_inputs(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    for path in sorted((folder / "images").iterdir()):
        with Image.open(path) as image:
            pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)[None] / 255
        yield path.name, (pixels - 0.5) / 0.2


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_an_episode_is_answered_after_its_last_update(photos: Path, steps: int) -> None:
    ran = run(photos, "--episodic", "--steps", str(steps), "--lr", "0.2")
    assert ran.returncode == 0, ran.stderr
    model, maps = runpy.run_path(str(photos / "nets.py"))["net"]().eval(), []
    for name, x in load_inputs(photos):
        online, late = library.adapt(model, lr=0.2, answers="after"), []
        for _ in range(steps):
            late.append(online(x))  # as iterations.png counts them
        logits = torch.nn.functional.interpolate(late[-1].detach(), size=x.shape[2:], mode="bilinear")
        with Image.open(photos / "out/label_maps" / name) as found:
            maps.append((np.asarray(found), logits[0].argmax(0).numpy()))
    assert all(np.array_equal(found, due) for found, due in maps)
    assert json.loads((photos / "out/summary.json").read_text())["settings"]["answers"] == "after"


def test_with_tiles_no_image_is_answered_as_a_whole(photos: Path) -> None:
    """A whole image may not fit in memory, which is why there are tiles."""
    (photos / "nets.py").write_text(NETS.replace("def net", "def inner") + GUARDED)
    assert "too large" in run(photos).stderr
    ran = run(photos, "--tile", "12x16")
    assert ran.returncode == 0, ran.stderr
    assert json.loads((photos / "out/summary.json").read_text())["images"] == 3


GUARDED = """
class Guarded(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = inner()

    def forward(self, x):
        if x.shape[2:].numel() > 12 * 16:
            raise RuntimeError("too large")
        return self.inner(x)

net = Guarded
"""


@pytest.mark.parametrize("broken", ["0.png", "1.png"])
def test_a_broken_header_is_left_out_of_a_tiled_run(photos: Path, broken: str) -> None:
    (photos / "images" / broken).write_bytes(b"no image at all")
    ran = run(photos, "--tile", "12x16")
    assert ran.returncode == 0, ran.stderr
    summary = json.loads((photos / "out/summary.json").read_text())
    assert (summary["images"], list(summary["unreadable"])) == (2, [broken])
    assert "not a whole image" in summary["unreadable"][broken]
    assert {path.name for path in (photos / "out/label_maps").iterdir()} == {"0.png", "1.png", "2.png"} - {broken}
    ran = run(photos, "--tile", "12x16", "--strict", "--overwrite")
    assert (ran.returncode, f"{broken}: not a whole image" in ran.stderr) == (2, True)


SHOWN = """
import tent

class Shown(tent.Tent):
    needs = frozenset({"source data"})

    def prepare(self, state, passes):
        print("shown", [len(seen.logits) for seen in passes])
"""


@pytest.mark.parametrize(("batch", "sizes"), [((), "[1, 1, 1]"), (("--batch", "2"), "[2, 1]")])
def test_source_images_come_in_the_runs_own_batches(photos: Path, batch: tuple[str, ...], sizes: str) -> None:
    """Batches of 64 full images, as for classifiers, would not fit in memory, nor have one size."""
    (photos / "own.py").write_text(SHOWN)
    ran = run(photos, "--method", "own.py:Shown", "--source-data", "images", *batch)
    assert ran.returncode == 0, ran.stderr
    assert f"shown {sizes}" in ran.stdout


def test_only_images_that_are_drawn_are_iterated(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tent.apps.pixels import iterations

    calls, iterate = [], iterations.iterate
    monkeypatch.setattr(iterations, "iterate", lambda *given: calls.append(1) or iterate(*given))
    assert run(photos, "--batch", "3", panels=1).returncode == 0
    assert len(calls) == 1


def test_a_picture_of_a_tiled_run_shows_whole_images(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tent.apps.pixels import iterations

    rows: list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]] = []
    save = iterations.save

    def watch(figure: object, path: Path) -> None:
        rows.extend(axis.images[0].get_array() for axis in figure.axes)  # type: ignore[attr-defined]
        save(figure, path)  # type: ignore[arg-type]

    monkeypatch.setattr(iterations, "save", watch)
    ran = run(photos, "--tile", "16x20", "--episodic", "--steps", "5", "--lr", "0.1", "--maps-only", panels=2)
    assert ran.returncode == 0, ran.stderr
    assert [row.shape for row in rows] == [(24, 32, 3)] * 8  # two images: the source, and iterations 1, 5 and 10
    for i, name in enumerate(("0.png", "1.png")):
        with Image.open(photos / "out/label_maps" / name) as found:
            assert np.array_equal(rows[4 * i + 2], np.asarray(found.convert("RGB")))  # tiles are episodes of 5 steps


def test_the_picture_is_drawn_in_the_runs_precision(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tent.apps.pixels import iterations

    seen, adapt = [], iterations.adapt

    def watch(*given: Any, **more: Any) -> library.Adapted:
        seen.append(more["precision"])
        return adapt(*given, **more)

    monkeypatch.setattr(iterations, "adapt", watch)
    assert run(photos, "--precision", "bfloat16", panels=1).returncode == 0
    assert seen == ["bfloat16"]


def test_iterations_are_episodes_of_as_many_steps(photos: Path) -> None:
    from tent.apps.pixels.iterations import iterate
    from tent.data.stream import Batch

    model = runpy.run_path(str(photos / "nets.py"))["net"]().eval()
    for _, x in load_inputs(photos):
        found = iterate(library.adapt(model, lr=0.1, answers="after"), Batch(x, None, ""))
        assert list(found) == [1, 5, 10]
        for steps, logits in found.items():
            episode = library.adapt(model, lr=0.1, steps=steps, episodic=True, answers="after")
            assert torch.equal(logits, episode(x))
