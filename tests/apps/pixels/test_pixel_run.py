"""`tent adapt` with a model that answers for every pixel: label maps, overlays, scores, and what does not change."""

import csv
import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from command import Ran, tent
from PIL import Image

import tent as library
from tent.data.segments.palette import palette

NETS = """
import torch
from torch import nn

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 6, 3, 2, 1), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 3, 3, 2, 1),
                         nn.BatchNorm2d(3))

def cropping():
    model = net()
    model.transforms = lambda image: torch.rand(3, 12, 16)
    return model

def wide():
    return nn.Sequential(nn.Conv2d(3, 300, 1), nn.BatchNorm2d(300))
"""
SIZES = ((24, 32), (24, 32), (20, 28))


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    for name in ("images", "labels"):
        (tmp_path / name).mkdir()
    for i, (height, width) in enumerate(SIZES):
        pixels = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "images" / f"{i}.png")
        Image.fromarray((pixels[..., 0] // 90).astype(np.uint8)).save(tmp_path / "labels" / f"{i}.png")
    (tmp_path / "classes.json").write_text('{"0": "road", "1": "sky", "2": "car"}')
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path


PAIRS = "pairs:images,labels,classes.json"


def run(folder: Path, *more: str, data: str = PAIRS, out: str = "out", net: str = "net") -> Ran:
    return tent(folder, "adapt", f"nets.py:{net}", data, "--mean", "0.5", "--std", "0.2", "--out", out, *more)


def opened(path: Path) -> Image.Image:
    with Image.open(path) as image:
        return image.copy()


def read_map(folder: Path, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.asarray(opened(folder / name))


def test_it_writes_maps_overlays_and_scores(scenes: Path) -> None:
    ran = run(scenes, "--episodic", "--steps", "2", "--panels", "2")
    assert ran.returncode == 0, ran.stderr
    assert "mIoU (%)" in ran.stdout
    with (scenes / "out/predictions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3
    for row in rows:
        image = opened(scenes / "out" / row["label_map"])
        assert image.mode == "P"
        assert image.size == opened(scenes / "images" / row["file"]).size
        assert set(np.unique(image)) <= {0, 1, 2}
        assert image.getpalette()[3:9] == palette(("road", "sky", "car"))[1:3].ravel().tolist()  # type: ignore[index]
        over = opened(scenes / "out" / row["label_map"].replace("label_maps", "overlays", 1))
        assert (over.mode, over.size) == ("RGB", image.size)
    summary = json.loads((scenes / "out/summary.json").read_text())
    right, union = np.zeros(3), np.zeros(3)
    for row in rows:
        answers = read_map(scenes / "out", row["label_map"])
        labels = np.asarray(opened(scenes / "labels" / row["file"]))
        for c in range(3):
            right[c] += ((answers == c) & (labels == c)).sum()
            union[c] += ((answers == c) | (labels == c)).sum()
    assert summary["mean_iou_after"] == pytest.approx((right / union).mean())
    assert sum(summary["histogram_after"].values()) == sum(height * width for height, width in SIZES)
    assert opened(scenes / "out/iterations.png").size[0] > 600


@pytest.mark.parametrize("data", [PAIRS, "images"])
def test_maps_and_scores_are_of_the_images_own_size_where_the_model_sees_another(scenes: Path, data: str) -> None:
    assert (
        run(scenes, "--method", "source", "--size", "12x16", "--batch", "3", "--panels", "1", data=data).returncode == 0
    )
    summary = json.loads((scenes / "out/summary.json").read_text())
    right, net = 0, load_net(scenes)
    for i, size in enumerate(SIZES):
        found = read_map(scenes / "out", f"label_maps/{i}.png")
        assert found.shape == size
        assert read_map(scenes / "out", f"overlays/{i}.png").shape == (*size, 3)
        seen = np.array(opened(scenes / "images" / f"{i}.png").resize((16, 12), Image.Resampling.BILINEAR))
        x = (torch.from_numpy(seen).permute(2, 0, 1)[None] / 255 - 0.5) / 0.2
        with torch.no_grad():
            logits = torch.nn.functional.interpolate(net(x), size=size, mode="bilinear", align_corners=False)
        assert np.array_equal(found, logits[0].argmax(0).numpy())
        right += (found == read_map(scenes, f"labels/{i}.png")).sum()
    pixels = sum(height * width for height, width in SIZES)
    assert sum(summary["histogram_after"].values()) == pixels
    if data == PAIRS:
        assert summary["pixel_accuracy_after"] == pytest.approx(right / pixels)


def test_what_a_function_makes_of_an_image_may_be_a_part_of_it(scenes: Path) -> None:
    ran = tent(scenes, "adapt", "nets.py:cropping", "images", "--method", "bn", "--panels", "0", "--out", "out")
    assert ran.returncode == 0, ran.stderr
    assert {read_map(scenes / "out", f"label_maps/{i}.png").shape for i in range(3)} == {(12, 16)}


def test_images_without_labels(scenes: Path) -> None:
    ran = run(scenes, "--episodic", "--steps", "2", "--panels", "1", data="images")
    assert ran.returncode == 0, ran.stderr
    summary = json.loads((scenes / "out/summary.json").read_text())
    assert "mean_iou_after" not in summary
    assert summary["entropy_after"] < summary["entropy_before"]
    assert sorted(path.name for path in (scenes / "out/label_maps").iterdir()) == ["0.png", "1.png", "2.png"]
    assert run(scenes, "--episodic", "--steps", "2", "--overwrite", "--limit", "1", data="images").returncode == 0
    assert len(list((scenes / "out/label_maps").iterdir())) == 1


def test_episodic_answers_do_not_depend_on_the_order(scenes: Path) -> None:
    for seed in ("1", "2"):
        options = ("--order", "shuffled", "--seed", seed, "--panels", "0")
        assert run(scenes, "--episodic", "--steps", "3", *options, data="images", out=f"out{seed}").returncode == 0
    for i in range(3):
        one, other = (read_map(scenes / f"out{seed}", f"label_maps/{i}.png") for seed in (1, 2))
        assert np.array_equal(one, other)


def test_offline_and_online_runs(scenes: Path) -> None:
    for name, options in (("offline", ("--epochs", "2")), ("online", ()), ("bn", ("--method", "bn"))):
        assert run(scenes, *options, "--panels", "0", out=name).returncode == 0
    summaries = [json.loads((scenes / name / "summary.json").read_text()) for name in ("offline", "online", "bn")]
    assert [each["updates"] for each in summaries] == [6, 3, 0]
    assert summaries[0]["protocol"]["when"].startswith("offline")


def test_tiles_make_whole_maps(scenes: Path) -> None:
    """The net has a field of view, so that only tiles at its stride answer as the whole does without adaptation."""
    options = ("--method", "source", "--panels", "0")
    assert run(scenes, *options, out="whole").returncode == 0
    ran = run(scenes, *options, "--tile", "12x16", out="tiles")
    assert ran.returncode == 0, ran.stderr
    whole, tiles = (json.loads((scenes / name / "summary.json").read_text()) for name in ("whole", "tiles"))
    assert (whole["images"], tiles["images"]) == (3, 3)
    counted = sum(height * width for height, width in SIZES)
    assert sum(whole["histogram_after"].values()) == counted
    for i, (height, width) in enumerate(SIZES):
        one, other = (read_map(scenes / name, f"label_maps/{i}.png") for name in ("whole", "tiles"))
        assert one.shape == other.shape == (height, width)
        assert other.max() < 3  # no pixel was left out
        assert (one == other).mean() > 0.8
        assert read_map(scenes / "tiles", f"overlays/{i}.png").shape == (height, width, 3)
    assert run(scenes, "--episodic", "--steps", "2", "--tile", "12x16", out="adapted").returncode == 0
    assert run(scenes, "--tile", "12x16", data="images", out="bare").returncode == 0


def test_maps_of_overlapping_tiles_are_those_that_the_scores_are_of(scenes: Path) -> None:
    assert run(scenes, "--episodic", "--steps", "3", "--tile", "16x20", "--panels", "0").returncode == 0
    right = 0
    for i in range(3):
        right += (read_map(scenes / "out", f"label_maps/{i}.png") == read_map(scenes, f"labels/{i}.png")).sum()
    summary = json.loads((scenes / "out/summary.json").read_text())
    assert summary["pixel_accuracy_after"] == pytest.approx(right / sum(height * width for height, width in SIZES))


@pytest.mark.parametrize("data", [PAIRS, "images"])
def test_pixels_that_tiles_share_are_counted_once_and_images_as_wholes(scenes: Path, data: str) -> None:
    assert run(scenes, "--method", "bn", "--tile", "16x20", "--panels", "0", data=data).returncode == 0
    summary = json.loads((scenes / "out/summary.json").read_text())
    maps = {f"{i}.png": read_map(scenes / "out", f"label_maps/{i}.png") for i in range(3)}
    counts = np.bincount(np.concatenate([each.ravel() for each in maps.values()]), minlength=3).tolist()
    assert list(summary["histogram_after"].values()) == counts
    with (scenes / "out/predictions.csv").open() as file:
        rows = {row["file"]: row for row in csv.DictReader(file)}
    assert (set(rows), summary["images"]) == (set(maps), 3)
    assert [int(rows[f"{i}.png"]["pixels"]) for i in range(3)] == [height * width for height, width in SIZES]
    net = library.adapt(load_net(scenes), library.BN())
    for name, row in rows.items():
        pixels = torch.from_numpy(np.array(opened(scenes / "images" / name))).permute(2, 0, 1)[None] / 255
        entropies = whole_entropy(net, (pixels - 0.5) / 0.2, 16, 20)
        assert float(row["entropy"]) == pytest.approx(float(entropies.mean()), abs=1e-4)
        if data == PAIRS:
            right = (maps[name] == read_map(scenes, f"labels/{name}")).mean()
            assert float(row["pixel_accuracy"]) == pytest.approx(right, abs=1e-6)
    assert summary["entropy_after"] == pytest.approx(
        np.mean([float(row["entropy"]) for row in rows.values()]), abs=1e-5
    )


def load_net(folder: Path) -> torch.nn.Module:
    return runpy.run_path(str(folder / "nets.py"))["net"]().eval()  # type: ignore[no-any-return]


def whole_entropy(net: torch.nn.Module, x: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return the entropy of every pixel, of the first tile that shows it."""
    found = torch.full(x.shape[2:], float("nan"))
    for top in (0, x.shape[2] - height):
        for left in (0, x.shape[3] - width):
            tile = x[..., top : top + height, left : left + width]
            logits = torch.nn.functional.interpolate(net(tile).detach(), size=(height, width), mode="bilinear")
            own = found[top : top + height, left : left + width]
            own[:] = torch.where(own.isnan(), library.losses.entropy(logits)[0], own)
    return found


def test_a_tiled_run_that_was_stopped_inside_an_image_goes_on(scenes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tent.apps.pixels.pixel_run import PixelRun

    options = ("--tile", "16x20", "--panels", "0", "--every", "0")
    assert run(scenes, *options, out="whole").returncode == 0
    note, calls = PixelRun.note, []

    def stop(self: PixelRun, *given: object) -> None:
        calls.append(1)
        if len(calls) == 7:
            raise KeyboardInterrupt
        note(self, *given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(PixelRun, "note", stop)
        run(scenes, *options, out="parts")
    assert not (scenes / "parts/summary.json").exists()
    assert run(scenes, *options, out="parts").returncode == 0
    for name in ("predictions.csv", "label_maps/1.png", "label_maps/2.png"):
        assert (scenes / "whole" / name).read_bytes() == (scenes / "parts" / name).read_bytes()


def test_the_picture_of_iterations_starts_from_the_delta(scenes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tent.apps.pixels import iterations

    seen = []

    def watch(adapted: library.Adapted, *given: object) -> dict[int, torch.Tensor]:
        seen.append({name: param.detach().clone() for name, param in adapted.state.params.items()})
        return iterate(adapted, *given)  # type: ignore[arg-type]

    iterate = iterations.iterate
    monkeypatch.setattr(iterations, "iterate", watch)
    assert run(scenes, "--epochs", "3", "--lr", "0.1", "--panels", "1", out="first").returncode == 0
    delta = library.Delta.load(scenes / "first/delta.safetensors")
    ran = run(scenes, "--delta", "first/delta.safetensors", "--panels", "2")
    assert ran.returncode == 0, ran.stderr
    source = load_net(scenes).state_dict()
    assert [torch.equal(each["1.weight"], source["1.weight"]) for each in seen] == [True, False, False]
    moved = next(tensor for name, tensor in delta.tensors.items() if name.endswith("1.weight"))
    assert all(torch.equal(each["1.weight"], moved) for each in seen[1:])
    ran = run(scenes, "--delta", "first/delta.safetensors", "--episodic", out="episodic")
    assert "--episodic goes back to the source before every batch, so first/delta" in ran.stderr


def test_the_picture_of_iterations_can_be_of_label_maps_alone(scenes: Path) -> None:
    assert run(scenes, "--panels", "2", out="with").returncode == 0
    assert run(scenes, "--panels", "2", "--maps-only", out="without").returncode == 0
    wide, narrow = (opened(scenes / name / "iterations.png") for name in ("with", "without"))
    assert narrow.size[0] == pytest.approx(wide.size[0] * 5 / 6, abs=2)
    colours = {tuple(colour) for colour in palette(("road", "sky", "car"))[:3].tolist()}
    body = np.asarray(narrow.convert("RGB"))[60:].reshape(-1, 3)
    pure, counts = np.unique(body, axis=0, return_counts=True)
    shown = {tuple(colour): count for colour, count in zip(pure.tolist(), counts.tolist(), strict=True)}
    white = shown.get((255, 255, 255), 0)
    assert sum(shown.get(colour, 0) for colour in colours) > 0.9 * (len(body) - white)


def test_tiles_of_a_damaged_image_are_left_out(scenes: Path) -> None:
    damaged = scenes / "images/1.png"
    damaged.write_bytes(damaged.read_bytes()[:1000])
    ran = run(scenes, "--tile", "12x16", "--panels", "0")
    assert ran.returncode == 0, ran.stderr
    summary = json.loads((scenes / "out/summary.json").read_text())
    assert summary["images"] == 2
    assert list(summary["unreadable"]) == ["1.png"]
    assert sorted(path.name for path in (scenes / "out/label_maps").iterdir()) == ["0.png", "2.png"]


@pytest.mark.parametrize("tile", [(), ("--tile", "12x16")])
def test_unlabelled_takes_no_label_maps(scenes: Path, tile: tuple[str, ...]) -> None:
    for path in (scenes / "labels").iterdir():
        path.unlink()
    assert "no such label map" in run(scenes, "--panels", "0", *tile).stderr
    ran = run(scenes, "--unlabelled", "--panels", "0", *tile)
    assert ran.returncode == 0, ran.stderr
    assert "mean_iou_after" not in json.loads((scenes / "out/summary.json").read_text())


def test_what_would_spoil_label_maps_is_refused_before_anything_is_answered(scenes: Path) -> None:
    ran = run(scenes, "--table", "parquet")
    assert "--table parquet: the table of a segmentation run is written as csv" in ran.stderr
    assert "answers with 300 classes; a label map holds 255 at most" in run(scenes, data="images", net="wide").stderr
    (scenes / "labels").rename(scenes / "label_maps")
    ran = run(scenes, "--overwrite", data="pairs:images,label_maps,classes.json", out=".")
    assert "lies where a run in . writes its own; choose another --out" in ran.stderr
    assert len(list((scenes / "label_maps").iterdir())) == 3
    opened(scenes / "images/0.png").save(scenes / "images/0.bmp")
    assert "0.bmp and 0.png would have one label map, label_maps/0.png; rename" in run(scenes, data="images").stderr
    assert not (scenes / "out").exists()


def test_fewer_classes_than_a_model_without_names_has_are_not_counted_by_chance(scenes: Path) -> None:
    (scenes / "two.json").write_text('{"2": "car", "0": "road", "1": null}')
    two = "pairs:images,labels,two.json"
    ran = run(scenes, "--panels", "0", data=two)
    assert ran.returncode == 2
    assert "has 2 classes, and nets.py:net does not say what its 3 are called; give --classes FILE" in ran.stderr
    (scenes / "names.txt").write_text("road\nsky\ncar\n")
    ran = run(scenes, "--method", "source", "--panels", "0", "--classes", "names.txt", data=two)
    assert ran.returncode == 0, ran.stderr
    right, union, counted = np.zeros(3), np.zeros(3), 0
    for i in range(3):
        labels, answers = read_map(scenes, f"labels/{i}.png"), read_map(scenes / "out", f"label_maps/{i}.png")
        known = labels != 1
        counted += known.sum()
        right += [((labels == c) & (answers == c) & known).sum() for c in range(3)]
        union += [(((labels == c) | (answers == c)) & known).sum() for c in range(3)]
    summary = json.loads((scenes / "out/summary.json").read_text())
    assert summary["pixel_accuracy_after"] == pytest.approx(right.sum() / counted)
    assert union[1] > 0  # the model answers with it, and no label could be it
    assert summary["mean_iou_after"] == pytest.approx((right / union)[[0, 2]].mean())
    assert (summary["mean_iou_class_count"], "mIoU (%), 2 classes" in ran.stdout) == (2, True)


def test_an_id_that_is_none_of_the_models_classes_names_its_file(scenes: Path) -> None:
    labels = np.array(opened(scenes / "labels/2.png"))
    labels[0, 0] = 30
    Image.fromarray(labels).save(scenes / "labels/2.png")
    ran = run(scenes, "--panels", "0", data="pairs:images,labels")
    assert ran.returncode == 2
    assert "2.png: holds the id 30, but the model answers with 3 classes; say what ids mean: pairs:" in ran.stderr


@pytest.mark.parametrize(
    ("picture", "said"),
    [
        (Image.new("L", (5, 4)), "a map of 4x5 for an image of 20x28; labels and images must be of one size"),
        (Image.new("RGB", (28, 20)), "a picture in colours (RGB), not a map of ids"),
    ],
)
def test_all_maps_are_looked_at_before_anything_is_answered(scenes: Path, picture: Image.Image, said: str) -> None:
    picture.save(scenes / "labels/2.png")
    ran = run(scenes, "--panels", "0", "--order", "stored")
    assert (ran.returncode, f"2.png: {said}" in ran.stderr) == (2, True), ran.stderr
    assert not (scenes / "out/label_maps").exists()
    assert run(scenes, "--panels", "0", "--order", "stored", "--limit", "2").returncode == 0  # which has none of it


@pytest.mark.parametrize("more", [("--tile", "2x2"), ("--size", "2x2")])
def test_images_that_are_too_small_for_statistics_are_told_what_to_type(scenes: Path, more: tuple[str, str]) -> None:
    ran = run(scenes, *more, "--panels", "1", "--limit", "1")
    larger = "a larger --tile" if more[0] == "--tile" else "a larger --batch or --size"
    assert ran.returncode == 2
    assert f"one value a channel, which has no statistics of its own; give {larger}, or --stats prior:16" in ran.stderr
    assert run(scenes, *more, "--panels", "0", "--limit", "1", "--stats", "prior:16", "--overwrite").returncode == 0


def test_label_maps_and_overlays_need_space(scenes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tent.apps import adapt

    asked: list[int] = []
    monkeypatch.setattr(adapt, "check_space", lambda path, needed: asked.append(needed))
    for more in (("--limit", "1"), ("--order", "stored"), ("--order", "stored", "--tile", "12x16")):
        assert run(scenes, "--panels", "0", *more, out=f"out{len(asked)}").returncode == 0
    one, three, tiles = asked
    assert three - one >= 2 * 24 * 32 * 0.7
    assert tiles >= three


@pytest.mark.parametrize(
    ("data", "more", "said"),
    [
        ("pairs:images,labels,classes.json", ("--batch", "3"), "one batch has images of 20x28 and 24x32"),
        ("pairs:images,nowhere", (), "nowhere: no such folder"),
        ("pairs:images,images", (), "a picture in colours"),
        (PAIRS, ("--table", "parquet"), "the table of a segmentation run is written as csv"),
    ],
)
def test_what_cannot_be_run_is_one_line(scenes: Path, data: str, more: tuple[str, ...], said: str) -> None:
    ran = run(scenes, *more, data=data)
    assert ran.returncode == 2
    assert said in ran.stderr.splitlines()[-1]


def test_the_source_is_left_as_it_is() -> None:
    from tent.models.segmenters.hrnet import HRNet, Plan

    torch.manual_seed(0)
    model, x = HRNet(Plan((1, 4), (1, 1, 1), 1, 4), 3).eval(), torch.randn(1, 3, 33, 47)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    plain = model(x)
    adapted = library.adapt(model, steps=5, episodic=True, lr=1e-2)
    first = adapted(x)
    assert not torch.equal(first, plain)
    adapted(torch.randn(2, 3, 64, 64))
    assert torch.equal(adapted(x), first)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert torch.equal(model(x), plain)
    full = library.adapt(model, steps=5, episodic=True, lr=1e-2, lean=False)(x)
    assert torch.allclose(full, first, atol=1e-3)
