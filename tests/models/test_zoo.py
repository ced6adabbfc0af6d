"""The zoo finds a model by its name, with its own preprocessing, and takes weights that are plain tensors alone."""

import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn

from tent.data import Preprocess
from tent.data.sample import sample
from tent.models import NETWORKS, r26, zoo
from tent.train.domains import read_pixels

FACTORY = "from tent.models import r26\n\ndef net():\n    return r26(classes=3)\n"


@pytest.fixture
def factory(tmp_path: Path) -> str:
    (tmp_path / "nets.py").write_text(FACTORY)
    return f"{tmp_path / 'nets.py'}:net"


@pytest.mark.parametrize("name", zoo.SHIPPED)
def test_a_shipped_model_is_ready(name: str) -> None:
    entry = zoo.load(name)
    assert not entry.model.training
    assert entry.classes == (100 if name.endswith("cifar100") else 10) == len(entry.class_names or ())
    assert entry.preprocess.mean
    assert entry.weights.startswith("shipped, sha256 ")
    photographs = read_pixels(sample(), np.arange(2))  # an MDEQ warns of a plain image
    assert entry.model(entry.preprocess(photographs)).shape == (2, entry.classes)


def test_what_was_trained_at_a_size_is_given_images_of_that_size() -> None:
    sizes = {name: zoo.load(name).preprocess.size for name in zoo.SHIPPED}
    assert {name: size for name, size in sizes.items() if size is not None} == {"r26-mnist": (32, 32)}
    entry = zoo.load("r26-mnist")
    assert entry.preprocess(np.zeros((2, 28, 28, 1), dtype=np.uint8)).shape == (2, 3, 32, 32)
    assert list(entry.class_names or ()) == list("0123456789")


def test_timm_brings_its_preprocessing() -> None:
    entry = zoo.load("timm:resnet10t", pretrained=False)
    assert (entry.preprocess.size, entry.preprocess.crop) == (201, 176)
    assert entry.preprocess.interpolation == "bicubic"
    assert entry.classes == 1000
    assert entry.weights == "none: drawn at random"


def test_without_weights_a_torchvision_backbone_has_none_either(monkeypatch) -> None:
    def download(*args: object, **kwargs: object) -> None:
        raise AssertionError("a download")

    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", download)
    assert zoo.load("torchvision:lraspp_mobilenet_v3_large", pretrained=False).weights == "none: drawn at random"


def test_torchvision_brings_its_preprocessing_and_classes() -> None:
    from torchvision.models import ResNet18_Weights

    entry = zoo.load("torchvision:resnet18", pretrained=False)
    assert (entry.preprocess.size, entry.preprocess.crop, entry.preprocess.interpolation) == (256, 224, "bilinear")
    assert entry.classes == 1000
    assert (entry.class_names or ())[0] == "tench"
    image = np.random.default_rng(0).integers(0, 255, (300, 400, 3), dtype=np.uint8)
    theirs = ResNet18_Weights.DEFAULT.transforms()(Image.fromarray(image))
    assert torch.allclose(entry.preprocess([image])[0], theirs, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_hugging_face_brings_its_processor(tmp_path: Path) -> None:
    import transformers

    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, image_size=32, num_labels=3
    )
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path)
    processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32}, image_mean=[0.1, 0.2, 0.3])
    processor.save_pretrained(tmp_path)
    entry = zoo.load(f"hf:{tmp_path}")
    assert entry.preprocess == Preprocess((32, 32), None, (0.1, 0.2, 0.3), (0.5, 0.5, 0.5), "bilinear")
    assert entry.classes == 3
    image = np.random.default_rng(0).integers(0, 255, (50, 40, 3), dtype=np.uint8)
    theirs = processor(Image.fromarray(image), return_tensors="pt")["pixel_values"]
    assert torch.allclose(entry.preprocess([image]), theirs, atol=0.05)
    assert entry.model(theirs).logits.shape == (1, 3)


def test_a_factory_of_ones_own_with_weights(factory: str, tmp_path: Path) -> None:
    torch.manual_seed(3)
    trained = r26(classes=3)
    save_file(trained.state_dict(), tmp_path / "w.safetensors")
    torch.save(trained.state_dict(), tmp_path / "w.pt")
    for file in ("w.safetensors", "w.pt"):
        entry = zoo.load(factory, tmp_path / file)
        assert torch.equal(entry.model.fc.weight, trained.fc.weight)  # type: ignore[union-attr]
        assert entry.weights == file


def test_a_factory_in_the_home_folder_may_use_dataclasses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = "@dataclass\nclass Options:\n    classes: ClassVar[int] = 3\n\n"
    head = "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom typing import ClassVar\n\n"
    (tmp_path / "nets.py").write_text(head + options + FACTORY.replace("3", "Options().classes"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert zoo.load("~/nets.py:net").model(torch.zeros(1, 3, 32, 32)).shape == (1, 3)


class Evil:
    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (pytest.fail, ("a pickle was run",))


def test_weights_that_are_not_plain_tensors_or_not_its_own_are_refused(factory: str, tmp_path: Path) -> None:
    state = r26(classes=3).state_dict()
    torch.save(Evil(), tmp_path / "evil.pt")
    (tmp_path / "raw.pt").write_bytes(pickle.dumps(Evil()))
    torch.save([1, 2], tmp_path / "list.pt")
    torch.save(state | {"extra": torch.zeros(1)}, tmp_path / "more.pt")
    torch.save({name: t for name, t in state.items() if name != "fc.bias"}, tmp_path / "less.pt")
    torch.save(r26(classes=4).state_dict(), tmp_path / "four.pt")
    (tmp_path / "cut.pt").write_bytes((tmp_path / "four.pt").read_bytes()[:5000])
    messages = {
        "evil.pt": "never run",
        "raw.pt": "never run",
        "list.pt": "not a state_dict of tensors",
        "more.pt": "it has extra, which the model has not",
        "less.pt": "it lacks fc.bias",
        "four.pt": r"fc.weight is \(4, 64\) there, \(3, 64\) in the model",
        "cut.pt": "not a whole file of weights",
    }
    for file, message in messages.items():
        with pytest.raises(ValueError, match=message):
            zoo.load(factory, tmp_path / file)


@pytest.mark.parametrize("name", ["nope", "timm:", "timm:nope", "torchvision:nope", "what:ever", "x.py"])
def test_a_name_that_leads_nowhere(name: str) -> None:
    with pytest.raises(ValueError, match=r"no model"):
        zoo.load(name)


def test_a_machine_without_a_network_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import timm

    def fail(*args: object, **kwargs: object) -> nn.Module:
        raise ConnectionError("no route\nto the hub")

    monkeypatch.setattr(timm, "create_model", fail)
    with pytest.raises(OSError, match=r"timm:resnet10t: it could not be loaded \(no route\); .*--weights FILE"):
        zoo.load("timm:resnet10t")


def test_a_source_model_of_the_tables_is_found_where_it_was_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENT_DATA", str(tmp_path))
    assert zoo.is_waiting("r26w2-svhn")
    assert not any(zoo.is_waiting(name) for name in (*zoo.SHIPPED, "densenet-cifar10", "timm:resnet50", "r26-mine"))
    command = f"tent train --model r26w2 --source svhn --out {tmp_path / 'models' / 'r26w2-svhn'}"
    with pytest.raises(FileNotFoundError, match=f"r26w2-svhn is not trained yet; train it with: {command}"):
        zoo.load("r26w2-svhn")
    folder = tmp_path / "models" / "r26-gn-usps"
    folder.mkdir(parents=True)
    save_file(NETWORKS["r26-gn"](classes=3).state_dict(), folder / "model.safetensors")
    sha256 = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    card = {"model": "r26-gn", "classes": 3, "mean": [0.5] * 3, "std": [0.5] * 3, "class_names": list("abc")}
    card["recipe"] = {"data": "usps"}
    (folder / "card.json").write_text(json.dumps({**card, "weights_sha256": sha256}))
    entry = zoo.load("r26-gn-usps")
    assert (entry.name, entry.weights) == ("r26-gn-usps", f"trained, sha256 {sha256[:12]}")
    assert not zoo.is_waiting("r26-gn-usps")
    folder.rename(folder.with_name("r26-gn-mnist"))  # under the name of another training
    with pytest.raises(ValueError, match="a training of source 'usps', and not 'mnist' as its name says; move its"):
        zoo.load("r26-gn-mnist")
