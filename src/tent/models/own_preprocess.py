"""Preprocessing that a model brings along, on itself or from its factory, in the words of other libraries or ours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from tent.data.preprocess import Preprocess, Size, pillow_image
from tent.data.sets.images import Pixels

ASSUMED = "assumed, since the model says nothing of it"
CONFIGS = ("pretrained_cfg", "default_cfg")  # timm's names for it
PROCESSORS = ("image_processor", "processor", "transforms")  # those of transformers, and torchvision's
KINDS = "a tent.data.Preprocess, a transform of an image, a timm config or a Hugging Face image processor"


@dataclass(frozen=True)
class Transform(Preprocess):
    """A function of one's own, from a Pillow image to a tensor (c, h, w)."""

    call: Callable[[Any], Any] = lambda image: image

    @property
    def words(self) -> str:
        """The function by its name, or as it describes itself."""
        name = getattr(self.call, "__qualname__", None) or " ".join(repr(self.call).split())
        return f"transform {name}"

    def shape(self, pixels: Pixels) -> Pixels:
        """Return what the function makes of one image; no bytes any more, but stacked like them."""
        made = self.call(pillow_image().fromarray(pixels))
        if not isinstance(made, torch.Tensor) or made.dim() != 3:
            seen = tuple(made.shape) if isinstance(made, torch.Tensor) else type(made).__name__
            raise ValueError(f"the {self.words} gave {seen} for an image; it must give a tensor (channels, h, w)")
        return np.asarray(made.detach(), dtype=np.float32)

    def extent(self, now: tuple[int, int]) -> tuple[int, int]:
        """Refuse: nothing is known of the size that the function makes."""
        raise ValueError(
            f"tiles cannot be cut after the {self.words}; give --size and --crop, --mean and --std instead"
        )

    def shape_map(self, labels: Pixels) -> Pixels:
        """Refuse: nothing is known of where the function puts a pixel."""
        raise ValueError(f"label maps cannot follow the {self.words}; give --size and --crop, --mean and --std instead")

    def scale(self, batch: Pixels) -> torch.Tensor:
        """Return the batch as a tensor."""
        return torch.from_numpy(np.ascontiguousarray(batch))

    def keeps(self, extent: tuple[int, ...] | None) -> bool:
        """Never: every image goes through the function."""
        return False


@dataclass(frozen=True)
class PreprocessChoice:
    """What a user says of preprocessing: each step that is given takes the place of the model's own."""

    size: Size | None = None
    crop: Size | None = None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    interpolation: str | None = None

    def apply(self, own: Preprocess, origin: str) -> tuple[Preprocess, str]:
        """Return a model's preprocessing with these steps in it, and where all of it comes from."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        if not given:
            return own, origin
        if isinstance(own, Transform):
            raise ValueError(f"--{next(iter(given))} cannot change the {own.words}; leave one of them out")
        rest = "" if origin == ASSUMED else f", the rest {origin}"
        return replace(own, **given), f"{', '.join(given)} as given{rest}"


def find_preprocess(model: nn.Module) -> tuple[Preprocess, str]:
    """Return the preprocessing that a model carries with it, and where it was found; scaling alone if nowhere."""
    for name in (*CONFIGS, *PROCESSORS):
        read = read_preprocess(getattr(model, name, None))
        if read is not None:
            return read, f"the model's own {name}"
    return Preprocess(), ASSUMED


def read_preprocess(own: Any) -> Preprocess | None:
    """Return what other libraries say of preprocessing as ours; None if it is nothing of the kind."""
    if isinstance(own, Preprocess):
        return own
    if hasattr(own, "to_dict") and not isinstance(own, Mapping):
        own = own.to_dict()
    if isinstance(own, Mapping):
        if "input_size" in own and "mean" in own:
            return read_timm(own)
        return read_processor(dict(own)) if "image_mean" in own else None
    if all(hasattr(own, name) for name in ("resize_size", "crop_size", "mean", "std", "interpolation")):
        return read_torchvision(own)
    return Transform(call=own) if callable(own) else None


def read_timm(seen: Mapping[str, Any]) -> Preprocess:
    """Return timm's preprocessing for tests."""
    height, width = seen["input_size"][-2:]
    share = seen.get("crop_pct") or 0.875  # timm's own default
    whole = int(height / share) if height == width else (int(height / share), int(width / share))
    crop = height if height == width else (height, width)
    return Preprocess(whole, crop, seen["mean"], seen["std"], seen.get("interpolation") or "bicubic")


def read_torchvision(seen: Any) -> Preprocess:
    """Return the preprocessing of torchvision's weights."""
    crop = getattr(seen, "crop_size", None)
    side = crop[0] if crop else None
    return Preprocess(seen.resize_size[0], side, tuple(seen.mean), tuple(seen.std), seen.interpolation.value)


def read_processor(seen: Mapping[str, Any]) -> Preprocess:
    """Return the preprocessing of a Hugging Face image processor."""
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
