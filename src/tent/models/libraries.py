"""Other people's models: timm, torchvision, Hugging Face, and a function in a file of one's own."""

import importlib
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from tent.data.preprocess import Preprocess
from tent.files import blame, load_python_file
from tent.models.entry import Entry


def load_timm(name: str, pretrained: bool) -> Entry:
    """Return a model of timm, with the preprocessing that timm tested it with."""
    library = import_library("timm", "vision")
    if not library.is_model(name):
        raise ValueError(f"timm has no model {name!r}; timm.list_models() names them")
    with short_errors(f"timm:{name}"):
        model = library.create_model(name, pretrained=pretrained)
    seen = library.data.resolve_model_data_config(model)
    side = seen["input_size"][-1]
    preprocess = Preprocess(int(side / seen["crop_pct"]), side, seen["mean"], seen["std"], seen["interpolation"])
    return Entry(f"timm:{name}", model, preprocess, model.num_classes, None, describe_weights("timm", pretrained))


def load_torchvision(name: str, pretrained: bool) -> Entry:
    """Return a model of torchvision, with the preprocessing of its default weights."""
    models = import_library("torchvision.models", "vision")
    if name not in models.list_models():
        raise ValueError(f"torchvision has no model {name!r}; torchvision.models.list_models() names them")
    weights = models.get_model_weights(name).DEFAULT
    with short_errors(f"torchvision:{name}"):
        takes = inspect.signature(models.get_model_builder(name)).parameters
        # a backbone has weights of its own, which are downloaded unless they are refused
        bare = {"weights_backbone": None} if "weights_backbone" in takes else {}
        model = models.get_model(name, **({"weights": weights} if pretrained else {"weights": None, **bare}))
    seen, names = weights.transforms(), weights.meta.get("categories")
    crop = getattr(seen, "crop_size", None)
    preprocess = Preprocess(
        seen.resize_size[0], crop[0] if crop else None, tuple(seen.mean), tuple(seen.std), seen.interpolation.value
    )
    return Entry(
        f"torchvision:{name}",
        model,
        preprocess,
        len(names) if names else None,
        names,
        describe_weights("torchvision", pretrained),
    )


def load_hugging_face(name: str, pretrained: bool) -> Entry:
    """Return an image classifier of the Hugging Face hub, with its own image processor's preprocessing."""
    library = import_library("transformers", "hf")
    with short_errors(f"hf:{name}"):
        auto = library.AutoModelForImageClassification
        config = library.AutoConfig.from_pretrained(name)
        model = auto.from_pretrained(name) if pretrained else auto.from_config(config)
        seen = library.AutoImageProcessor.from_pretrained(name).to_dict()
    names = [str(config.id2label[i]) for i in range(config.num_labels)]
    return Entry(
        f"hf:{name}",
        model,
        _read_processor(seen),
        config.num_labels,
        names,
        describe_weights("Hugging Face", pretrained),
    )


def load_factory(file: str, factory: str) -> Entry:
    """Return what a function without arguments in a Python file makes."""
    make = getattr(load_python_file(file), factory, None)
    if not callable(make):
        raise ValueError(f"{file}: has no function {factory!r}; name it FILE.py:factory")
    with blame(f"{file}:{factory}"):
        model = make()
    if not isinstance(model, nn.Module):
        raise ValueError(f"{file}:{factory} returned a {type(model).__name__}, not a torch.nn.Module")
    return Entry(f"{Path(file).name}:{factory}", model, Preprocess(), None, None, "as the factory made it")


LIBRARIES: dict[str, Callable[[str, bool], Entry]] = {
    "timm": load_timm,
    "torchvision": load_torchvision,
    "hf": load_hugging_face,
}


def _read_processor(seen: dict[str, Any]) -> Preprocess:
    size, crop = seen.get("size") or {}, seen.get("crop_size") or {}
    side: Any = size.get("shortest_edge") or (size.get("height"), size.get("width"))
    if "crop_pct" in seen and "shortest_edge" in size and size["shortest_edge"] < 384:  # ConvNeXt's own way
        side, crop = (
            int(size["shortest_edge"] / seen["crop_pct"]),
            {"height": size["shortest_edge"], "width": size["shortest_edge"]},
        )
    cut = (crop["height"], crop["width"]) if seen.get("do_center_crop", bool(crop)) and crop else None
    mean, std = (seen["image_mean"], seen["image_std"]) if seen.get("do_normalize", True) else (None, None)
    names = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # by Pillow's numbers
    return Preprocess(side, cut, mean, std, names[int(seen.get("resample", 2))])


def describe_weights(library: str, pretrained: bool) -> str:
    """Say where weights come from."""
    return f"{library}'s" if pretrained else "none: drawn at random"


def import_library(module: str, extra: str) -> Any:
    """Return a library's module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(f"{module} is not installed: pip install 'tent-tta[{extra}]'") from missing


@contextmanager
def short_errors(name: str) -> Iterator[None]:
    """Say in one line when a download fails, whichever of the libraries' many errors it was."""
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    except Exception as error:  # noqa: BLE001 (hub, http and url errors share no parent)
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise OSError(
            f"{name}: it could not be loaded ({first}); with a network try again, or pass --weights FILE"
        ) from None
    finally:
        logger.setLevel(level)
