"""Preprocessing that a user's model brings along, whatever library's words it is in."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from tent.data import Preprocess
from tent.models import zoo
from tent.models.libraries import load_preprocess
from tent.models.own_preprocess import ASSUMED, PreprocessChoice, Transform, find_preprocess, read_preprocess

CONFIG = {"input_size": (3, 32, 32), "crop_pct": 0.8, "mean": (0.1, 0.2, 0.3), "std": (0.5, 0.5, 0.5)}
IMAGE = np.random.default_rng(0).integers(0, 255, (50, 40, 3), dtype=np.uint8)


@pytest.mark.parametrize("name", ["pretrained_cfg", "default_cfg"])
def test_a_config_on_the_model(name: str) -> None:
    model = nn.Linear(2, 2)
    setattr(model, name, CONFIG)
    expected = Preprocess(40, 32, (0.1, 0.2, 0.3), (0.5, 0.5, 0.5), "bicubic")
    assert find_preprocess(model) == (expected, f"the model's own {name}")


def test_the_presets_of_torchvision_on_the_model() -> None:
    from torchvision.models import ResNet18_Weights

    model = nn.Linear(2, 2)
    model.transforms = ResNet18_Weights.DEFAULT.transforms()
    found, origin = find_preprocess(model)
    assert (found.size, found.crop, origin) == (256, 224, "the model's own transforms")


def test_torchvisions_preset_of_segmentation_resizes_and_does_not_crop() -> None:
    from torchvision.models.segmentation import LRASPP_MobileNet_V3_Large_Weights

    found = read_preprocess(LRASPP_MobileNet_V3_Large_Weights.DEFAULT.transforms())
    assert found is not None
    assert (found.size, found.crop, found.sees_all) == (520, None, True)


def test_a_function_of_an_image() -> None:
    from torchvision import transforms

    own = transforms.Compose([transforms.Resize((8, 8)), transforms.ToTensor()])
    found = read_preprocess(own)
    assert isinstance(found, Transform)
    assert torch.equal(found([IMAGE, IMAGE])[1], own(Image.fromarray(IMAGE)))
    assert found.words.startswith("transform Compose( Resize(size=(8, 8)")
    with pytest.raises(ValueError, match=r"gave int for an image; it must give a tensor \(channels, h, w\)"):
        Transform(call=lambda image: 3)([IMAGE])
    with pytest.raises(ValueError, match=r"--size cannot change the transform Compose"):
        PreprocessChoice(size=8).apply(found, "given")


def test_a_processor_of_transformers() -> None:
    import transformers

    own = transformers.ViTImageProcessor(size={"height": 8, "width": 8}, image_mean=[0.1, 0.2, 0.3])
    assert read_preprocess(own) == Preprocess((8, 8), None, (0.1, 0.2, 0.3), (0.5, 0.5, 0.5), "bilinear")


READ = [
    *(
        ("ViTImageProcessor", {}),
        ("DeiTImageProcessor", {}),
        ("SegformerImageProcessor", {}),
        ("BitImageProcessor", {}),
    ),
    *(("ConvNextImageProcessor", {"size": {"shortest_edge": 224}}), ("ConvNextImageProcessor", {})),
    *(("PoolFormerImageProcessor", {}), ("ViTImageProcessor", {"do_normalize": False})),
    *(("ViTImageProcessor", {"do_resize": False}), ("BeitImageProcessor", {"do_center_crop": True})),
]
CALLED = [
    *(("EfficientNetImageProcessor", {}), ("EfficientNetImageProcessor", {"rescale_offset": True})),
    *(("LevitImageProcessor", {}), ("MobileViTImageProcessor", {}), ("ViTImageProcessor", {"rescale_factor": 1 / 128})),
]


@pytest.mark.parametrize(("name", "fields"), [*READ, *CALLED])
def test_a_processors_pixels_are_its_own(name: str, fields: dict[str, object]) -> None:
    import transformers

    own = getattr(transformers, name)(**fields)
    found = read_preprocess(own)
    assert found is not None
    assert isinstance(found, Transform) == ((name, fields) in CALLED)
    down, right = np.mgrid[0:300, 0:420]
    image = np.stack([down * 0.8, right * 0.6, 255 - right * 0.5], -1).astype(np.uint8)
    theirs = own(Image.fromarray(image), return_tensors="pt")["pixel_values"]
    far = (found([image]) - theirs).abs().max() * 255 * min(found.std or (1,))
    assert far == 0 if isinstance(found, Transform) else far < 4


def test_a_processor_that_is_called_says_its_name_and_takes_grey_images() -> None:
    import transformers

    found = read_preprocess(transformers.LevitImageProcessor())
    assert found is not None
    assert found.words == "transform LevitImageProcessor of transformers"
    assert found([IMAGE[..., :1]]).shape == (1, 3, 224, 224)


def test_fields_that_are_not_read_are_refused_in_one_line() -> None:
    import transformers

    odd = {
        "include_top True": transformers.EfficientNetImageProcessor(),
        "image_processor_type LevitImageProcessor": transformers.LevitImageProcessor(),
        "do_flip_channel_order True": transformers.MobileViTImageProcessor(),
        "rescale_factor 1": transformers.ViTImageProcessor(rescale_factor=1),
    }
    for words, own in odd.items():
        with pytest.raises(
            ValueError, match=f"^{words} of an image processor is not read .*; give the processor itself$"
        ):
            read_preprocess(own.to_dict())
    with pytest.raises(ValueError, match=r"^ImageGPTImageProcessor gives input_ids, but no pixel_values; give --size"):
        read_preprocess(transformers.ImageGPTImageProcessor(clusters=[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]))
    with pytest.raises(
        ValueError, match=r"^size \{'longest_edge': 8\} of an image processor is not known; give --size"
    ):
        read_preprocess({"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "size": {"longest_edge": 8}})


@pytest.mark.parametrize(
    "name", ["resnet50", "coat_lite_medium_384.in1k", "vit_base_patch16_sapiens2.fb", "eva02_tiny_patch14_336"]
)
def test_timms_pixels_are_its_own(name: str) -> None:
    import timm

    config = timm.data.resolve_data_config(pretrained_cfg=timm.get_pretrained_cfg(name).to_dict())
    found, theirs = load_preprocess(f"timm:{name}"), timm.data.create_transform(**config)
    assert torch.equal(found([IMAGE])[0], theirs(Image.fromarray(IMAGE)))


def test_a_timm_model_with_borders_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"^crop_mode 'border' at 32x32 of a timm model is not known; choose"):
        read_preprocess({**CONFIG, "crop_mode": "border"})


def test_what_nobody_says_is_said_to_be_assumed() -> None:
    assert find_preprocess(nn.Linear(2, 2)) == (Preprocess(), ASSUMED)
    assert read_preprocess(3) is None
    assert read_preprocess({"lr": 3}) is None


def test_what_is_given_takes_the_place_of_what_is_known() -> None:
    known = Preprocess(40, 32, (0.1,) * 3, (0.5,) * 3)
    assert PreprocessChoice().apply(known, "timm's") == (known, "timm's")
    found, origin = PreprocessChoice(crop=24, interpolation="bicubic").apply(known, "timm's")
    assert found == Preprocess(40, 24, (0.1,) * 3, (0.5,) * 3, "bicubic")
    assert origin == "crop, interpolation as given, the rest timm's"
    assert PreprocessChoice(size=8).apply(Preprocess(), ASSUMED) == (Preprocess(8), "size as given")


def test_like_a_model_of_a_library() -> None:
    assert load_preprocess("timm:resnet10t") == zoo.load("timm:resnet10t", pretrained=False).preprocess
    assert load_preprocess("torchvision:resnet18") == zoo.load("torchvision:resnet18", pretrained=False).preprocess
    for name in ("timm:nope", "torchvision:nope", "r26-cifar10", "timm:"):
        with pytest.raises(ValueError, match="no model"):
            load_preprocess(name)


FACTORY = """
import torch
from torch import nn
from tent.data import Preprocess

def both():
    return nn.Linear(2, 2), Preprocess(size=8)

def wrong():
    return nn.Linear(2, 2), 3

def three():
    return nn.Linear(2, 2), None, None
"""


def test_a_factory_returns_both(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(FACTORY)
    entry = zoo.load(f"{tmp_path}/nets.py:both")
    assert (entry.preprocess, entry.preprocess_origin) == (Preprocess(size=8), "from nets.py:both")
    with pytest.raises(ValueError, match=r"returned a int with its model, not a tent\.data\.Preprocess, a transform"):
        zoo.load(f"{tmp_path}/nets.py:wrong")
    with pytest.raises(ValueError, match=r"returned a Linear, NoneType, NoneType, not a torch\.nn\.Module"):
        zoo.load(f"{tmp_path}/nets.py:three")


def test_timm_knows_what_its_classes_are_called() -> None:
    entry = zoo.load("timm:resnet10t", pretrained=False)
    assert (entry.class_names or ())[0] == "tench, Tinca tinca"
    assert (entry.class_ids or ())[0] == "n01440764"
    assert entry.preprocess_origin == "timm's"
