"""Training of segmentation: images and labels move together, a killed run goes on, and its card says how good it is."""

from pathlib import Path

import command
import numpy as np
import pytest
import torch
from PIL import Image

from tent.bench.suites.segmentation_table import SEGMENTATION
from tent.data import load
from tent.data.preprocess import IMAGENET
from tent.models import NETWORKS, SEGMENTERS, zoo
from tent.models.cards import train_command
from tent.models.segmenters.hrnet import HRNet, Plan
from tent.train import Recipe, train
from tent.train.objectives import Batch, PixelCrossEntropy
from tent.train.pixel_training import PixelTraining
from tent.train.start import Start, build_network

CHOICES = {"epochs": 2, "batch": 2, "lr": 0.05, "crop": 0, "precision": "float32"}
RECIPE = Recipe("hrnet-w18-small-v1", "carla-7", size=(16, 24), scales=(0.5, 1.5), **CHOICES)


@pytest.fixture(autouse=True)
def small_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def tiny(classes: int) -> HRNet:
        return HRNet(Plan((1, 4), (1, 1, 1), 1, 4), classes)

    for table in (NETWORKS, SEGMENTERS):
        monkeypatch.setitem(table, "hrnet-w18-small-v1", tiny)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five scenes whose red channel is 20 times the id of the pixel, so that images and labels can be compared."""
    random = np.random.default_rng(0)
    for name in ("images", "labels"):
        (tmp_path / "carla" / name).mkdir(parents=True)
    for i in range(5):
        ids = np.kron(random.integers(5, 11, (4, 5)), np.ones((10, 8))).astype(np.uint8)
        Image.fromarray(ids).save(tmp_path / "carla/labels" / f"{i}.png")
        Image.fromarray(np.stack([ids * 20] * 3 + [ids * 0 + 255], -1)).save(tmp_path / "carla/images" / f"{i}.png")
    (tmp_path / "carla" / "valid.txt").write_text("4.png\n")
    monkeypatch.setenv("TENT_DATA", str(tmp_path))
    return tmp_path


def training(recipe: Recipe = RECIPE) -> PixelTraining:
    torch.manual_seed(0)
    model, data = NETWORKS[recipe.model](classes=7), load("carla-7", "train")
    return PixelTraining(model, data, IMAGENET, recipe, PixelCrossEntropy(), torch.device("cpu"))


def test_labels_follow_their_pixels(root: Path) -> None:
    run = training()
    table = load("carla-7", "train").class_map.table  # type: ignore[attr-defined]
    for run.step in range(4):
        batch = run.batch()
        assert batch.inputs.shape == (2, 3, 16, 24)
        assert batch.labels.shape == (2, 16, 24)
        red = batch.inputs[:, 0] * 0.229 + 0.485
        ids = (red * 255 / 20).round().long().clamp(0, 255)
        exact = ((red * 255 / 20) - ids).abs() < 0.02  # not where bilinear has blended two ids
        same = torch.from_numpy(table)[ids] == batch.labels
        assert same[exact].float().mean() > 0.97
        assert exact.float().mean() > 0.4


def test_a_step_sees_the_same_whenever_it_is_taken(root: Path) -> None:
    run, again = training(), training()
    run.step = again.step = 3
    one, other = run.batch(), again.batch()
    assert torch.equal(one.inputs, other.inputs)
    assert torch.equal(one.labels, other.labels)
    run.step = 2
    assert not torch.equal(one.inputs, run.batch().inputs)


def test_an_image_smaller_than_its_crop_is_padded_with_what_is_ignored(root: Path) -> None:
    run = training(Recipe("hrnet-w18-small-v1", "carla-7", size=(64, 96), scales=(1.0, 1.0), flip=False, **CHOICES))
    labels = run.batch().labels
    assert bool((labels[:, 35:] == 255).all())
    assert bool((labels[:, :35, :40] != 255).any())


def test_loss_and_mistakes_leave_out_ignored_pixels() -> None:
    logits = torch.tensor([[[[4.0, 0.0]], [[0.0, 4.0]]]])
    labels = torch.tensor([[[0, 0, 255, 255]]])
    objective, model = PixelCrossEntropy(), torch.nn.Identity()
    loss, wide = objective(model, Batch(logits, labels, 0.0, torch.Generator()))
    due = torch.nn.functional.cross_entropy(wide[0, :, 0, :2].T, labels[0, 0, :2])
    assert torch.allclose(loss, due)
    assert objective.count_mistakes(wide, labels) == 0
    assert objective.count_mistakes(-wide, labels) == 1
    nothing = objective(model, Batch(logits, labels * 0 + 255, 0.0, torch.Generator()))[0]
    assert nothing == 0


def test_a_killed_run_comes_to_the_same_bits(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(RECIPE, tmp_path / "whole")
    advance = PixelTraining.advance

    def stop(run: PixelTraining) -> None:
        if run.step == 3:
            raise KeyboardInterrupt
        advance(run)

    monkeypatch.setattr(PixelTraining, "advance", stop)
    with pytest.raises(KeyboardInterrupt):
        train(RECIPE, tmp_path / "parts", every=0)
    monkeypatch.setattr(PixelTraining, "advance", advance)
    parts = train(RECIPE, tmp_path / "parts")
    assert parts["weights_sha256"] == whole["weights_sha256"]
    assert train(RECIPE, tmp_path / "parts")["weights_sha256"] == parts["weights_sha256"]  # of a run that has ended
    assert parts["test_size"] == [30, 35]
    assert 0 <= parts["test_mean_iou"] <= 1
    entry = zoo.load(f"trained:{tmp_path / 'parts'}")
    assert (entry.classes, entry.preprocess) == (7, IMAGENET)


def test_a_training_starts_from_published_weights(root: Path, tmp_path: Path) -> None:
    torch.manual_seed(5)
    whole = NETWORKS[RECIPE.model](classes=7).state_dict()
    state = {f"model.{name}": tensor for name, tensor in whole.items() if "num_batches" not in name}
    torch.save({"state_dict": {**state, "loss.criterion.weight": torch.ones(7)}}, tmp_path / "best.pth")
    model = build_network(RECIPE, load("carla-7", "train"), Start.find(tmp_path / "best.pth"))
    assert all(torch.equal(tensor, whole[name]) for name, tensor in model.state_dict().items())
    torch.save(NETWORKS[RECIPE.model](classes=19).state_dict(), tmp_path / "best.pth")
    with pytest.raises(ValueError, match=r"not the weights of hrnet-w18-small-v1 for 7 classes: .* seem to be of 19"):
        build_network(RECIPE, load("carla-7", "train"), Start.find(tmp_path / "best.pth"))


def test_the_command_trains_and_says_the_score(root: Path, tmp_path: Path) -> None:
    options = f"--size 16x24 --scales 0.5,1.5 --epochs 1 --batch 2 --precision float32 --out {tmp_path / 'run'}"
    arguments = f"train --task segmentation --model hrnet-w18-small-v1 --source carla-7 {options}"
    assert "mIoU" in command.tent(tmp_path, *arguments.split()).stdout
    card = (tmp_path / "run" / "card.json").read_text()
    assert "--size 16x24 --scales 0.5,1.5" in card


@pytest.fixture
def recipes(monkeypatch: pytest.MonkeyPatch) -> list[Recipe]:
    """What the command would train by; nothing is trained."""
    seen: list[Recipe] = []

    def stop(recipe: Recipe, *given: object, **more: object) -> None:
        seen.append(recipe)
        raise ValueError("far enough")

    monkeypatch.setattr("tent.cli.train.train", stop)
    return seen


def test_segmentation_has_defaults_of_its_own(root: Path, tmp_path: Path, recipes: list[Recipe]) -> None:
    """An image is many samples: batches and rates of small classifiers would not fit, in memory or at all."""
    for more in ("", "--crop 0 --epochs 3"):  # a card's command says --crop 0
        command.tent(tmp_path, *f"train --model hrnet-w18-small-v1 --source carla-7 --out run {more}".split())
    found = [(each.epochs, each.batch, each.lr, each.crop, each.size, each.scales) for each in recipes]
    assert found == [(epochs, 8, 0.05, 0, (192, 288), (0.5, 1.25)) for epochs in (40, 3)]


def test_the_suites_model_is_trained_by_the_recipe_on_record(root: Path, tmp_path: Path, recipes: list[Recipe]) -> None:
    words = train_command(SEGMENTATION.model).split()
    command.tent(tmp_path, *words[1:])
    recipe = recipes[0]
    assert (recipe.epochs, recipe.batch, recipe.lr, recipe.size) == (40, 8, 0.05, (176, 288))
    assert words[-1] == str(root / "models" / SEGMENTATION.model)


def test_gta5_is_trained_on(root: Path, tmp_path: Path) -> None:
    for name in ("images", "labels"):
        (tmp_path / "gta5" / name).mkdir(parents=True)
    for i in range(1, 9):
        for name in ("images", "labels"):  # ids 5 to 10, of which Cityscapes has no class but 7 and 8
            with Image.open(tmp_path / "carla" / name / f"{i % 5}.png") as picture:
                picture.save(tmp_path / "gta5" / name / f"{i:05d}.png")
    options = f"--size 16x24 --scales 0.5,1.5 --epochs 1 --batch 2 --precision float32 --out {tmp_path / 'run'}"
    ran = command.tent(
        tmp_path, *f"train --task segmentation --model hrnet-w18-small-v1 --source gta5 {options}".split()
    )
    assert "mIoU" in ran.stdout, ran.stderr
    assert '"test_set": "gta5 test (2 of the published 6,181 images)' in (tmp_path / "run" / "card.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--model r26 --task segmentation --source carla-7",
            "r26 is a network for classification, not for segmentation",
        ),
        ("--model r26 --task speech --source carla-7", "--task 'speech': choose from classification, segmentation"),
        ("--model hrnet-w18 --method ttt --source carla-7", "--method ttt: segmentation is trained by source alone"),
        (
            "--model hrnet-w18 --crop 4 --source carla-7",
            "--crop 4: segmentation crops by --size HEIGHTxWIDTH; leave out",
        ),
        ("--model hrnet-w18 --size 32 --source carla-7", "size 32: segmentation learns from crops; give HEIGHTxWIDTH"),
        ("--model hrnet-w18 --scales 2,1 --source carla-7", "give the least and the greatest, such as 0.5,1.25"),
        ("--model hrnet-w18 --scales x --source carla-7", "--scales 'x': give two numbers with a comma"),
        ("--model hrnet-w18 --scales 0.5 --source carla-7", "give the least and the greatest, such as 0.5,1.25"),
        ("--model hrnet-w18 --scales 1,inf --source carla-7", "give the least and the greatest, such as 0.5,1.25"),
        ("--model hrnet-w18 --colors --source carla-7", "colors are for classification, which hrnet-w18 is not for"),
        ("--model r26 --scales 2,1 --source cifar10", "give the least and the greatest, such as 0.5,1.25"),
        ("--model r26 --source carla-7", "carla-7 train (4 of the published 983 images) has label maps"),
    ],
)
def test_what_cannot_be_trained_is_one_line(root: Path, tmp_path: Path, arguments: str, message: str) -> None:
    ran = command.tent(tmp_path, *f"train {arguments} --out {tmp_path / 'run'}".split())
    assert ran.returncode == 2
    assert message in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
