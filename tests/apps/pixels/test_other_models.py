"""Segmentation models of other libraries, through the same command."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from command import tent
from PIL import Image


@pytest.fixture
def images(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    random = np.random.default_rng(0)
    for i in range(2):
        pixels = random.integers(0, 256, (40, 56, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "images" / f"{i}.png")
    return tmp_path


def adapt(folder: Path, *more: str) -> dict[str, object]:
    ran = tent(folder, "adapt", more[0], "images", "--episodic", "--steps", "3", "--panels", "1", *more[1:])
    assert ran.returncode == 0, ran.stderr
    found = sorted((folder / "adapted/label_maps").iterdir())
    assert [path.name for path in found] == ["0.png", "1.png"]
    return json.loads((folder / "adapted/summary.json").read_text())  # type: ignore[no-any-return]


@pytest.mark.filterwarnings("ignore")
def test_segformer_moves_its_layer_norms(images: Path) -> None:
    import transformers

    torch.manual_seed(0)
    config = transformers.SegformerConfig(
        hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], decoder_hidden_size=16, num_labels=4
    )
    transformers.SegformerForSemanticSegmentation(config).save_pretrained(images / "model")
    transformers.SegformerImageProcessor(size={"height": 32, "width": 48}).save_pretrained(images / "model")
    summary = adapt(images, "hf:model", "--lr", "0.01")
    assert summary["updates"] == 2
    assert summary["entropy_after"] < summary["entropy_before"]  # type: ignore[operator]
    with Image.open(images / "adapted/label_maps/0.png") as image:
        assert (image.mode, image.size) == ("P", (56, 40))  # its own size, not the one that the model saw


@pytest.mark.parametrize("name", ["lraspp_mobilenet_v3_large", "deeplabv3_mobilenet_v3_large", "fcn_resnet50"])
def test_torchvision(images: Path, name: str) -> None:
    from torchvision.models import get_model

    torch.manual_seed(0)
    torch.save(get_model(name, weights=None, weights_backbone=None).state_dict(), images / "w.pt")
    batch = "2" if name.startswith("deeplab") else "1"  # it pools an image to one value, which has no statistics
    summary = adapt(images, f"torchvision:{name}", "--weights", "w.pt", "--size", "40", "--batch", batch)
    assert summary["updates"] == 2 // int(batch)
    assert (images / "adapted/iterations.png").is_file() == (batch == "1")
    assert any("no picture of single images" in line for line in summary["warnings"]) == (batch == "2")  # type: ignore[attr-defined]
    histogram = summary["histogram_after"]
    assert isinstance(histogram, dict)
    assert {"__background__", "aeroplane", "car"} <= set(histogram)
    assert sum(histogram.values()) == 2 * 40 * 56
