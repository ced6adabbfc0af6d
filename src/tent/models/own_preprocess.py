"""Preprocessing that a model brings along, on itself or from its factory, in the words of other libraries or ours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from tent.data.preprocess import Preprocess, Size, pillow_image, to_colour
from tent.data.sets.images import Decoded, Pixels

ASSUMED = "assumed, since the model says nothing of it"
CONFIGS = ("pretrained_cfg", "default_cfg")  # timm's names for it
PROCESSORS = ("image_processor", "processor", "transforms")  # those of transformers, and torchvision's
# fields of image processors that change pixels in ways that Preprocess does not have
UNREAD = ("include_top", "rescale_offset", "do_flip_channel_order", "do_pad", "do_color_quantize", "keep_aspect_ratio")
WHOLE_FROM = 384  # pixels a side, from which ConvNeXt sees an image as a whole
NEAR = 4.0  # of 255: a centre that lies one pixel off, and another library's rounding, stay below it
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

    def shape(self, image: Decoded) -> Pixels:
        """Return what the function makes of one image; no bytes any more, but stacked like them."""
        made = self.call(pillow_image().fromarray(to_colour(np.asarray(image))))
        if not isinstance(made, torch.Tensor) or made.dim() != 3:
            seen = tuple(made.shape) if isinstance(made, torch.Tensor) else type(made).__name__
            raise ValueError(f"the {self.words} gave {seen} for an image; it must give a tensor (channels, h, w)")
        return np.asarray(made.detach(), dtype=np.float32)

    def extent(self, now: tuple[int, int]) -> tuple[int, int]:
        """Refuse: nothing is known of the size that the function makes."""
        raise ValueError(
            f"tiles cannot be cut after the {self.words}; give --size and --crop, --mean and --std instead"
        )

    @property
    def sees_all(self) -> bool:
        """Not known of a function."""
        return False

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
    seen = own.to_dict() if hasattr(own, "to_dict") and not isinstance(own, Mapping) else own
    if isinstance(seen, Mapping):
        if "input_size" in seen and "mean" in seen:
            return read_timm(seen)
        return read_processor(own if callable(own) else seen) if "image_mean" in seen else None
    if all(hasattr(own, name) for name in ("resize_size", "mean", "std", "interpolation")):  # segmenters have no crop
        return read_torchvision(own)
    return Transform(call=own) if callable(own) else None


def read_timm(seen: Mapping[str, Any]) -> Preprocess:
    """Return timm's preprocessing for tests."""
    height, width = seen["input_size"][-2:]
    share = seen.get("crop_pct") or 0.875  # timm's own default
    mode, whole = seen.get("crop_mode") or "center", (int(height / share), int(width / share))
    how = seen["mean"], seen["std"], seen.get("interpolation") or "bicubic"
    if mode == "squash":  # each side by itself, so that nothing is lost unless there is a crop
        return Preprocess(whole, None if whole == (height, width) else (height, width), *how)
    if mode != "center" or height != width:
        seen_as = f"crop_mode {mode!r} at {height}x{width}"
        raise ValueError(f"{seen_as} of a timm model is not known; choose a model of center or squash, a square one")
    return Preprocess(whole[0], height, *how)


def read_torchvision(seen: Any) -> Preprocess:
    """Return the preprocessing of torchvision's weights."""
    crop = getattr(seen, "crop_size", None)
    side = crop[0] if crop else None
    return Preprocess(seen.resize_size[0], side, tuple(seen.mean), tuple(seen.std), seen.interpolation.value)


def read_processor(own: Any) -> Preprocess:
    """Return the preprocessing of a Hugging Face image processor: its fields' where they say it all, or a call of it.

    Some classes of processors have a way of their own that no field tells of, so what was read is held to their pixels.
    """
    if isinstance(own, Mapping):
        if odd := _unread_fields(own):
            raise ValueError(f"{odd[0]} of an image processor is not read from its fields; give the processor itself")
        return _read_fields(own)
    transform = Transform(call=ProcessorCall(own))
    pixels = [(image, transform([image])) for image in _slopes()]
    try:
        read = _read_fields(own.to_dict())
        same = all(_is_near(read([image]), theirs, read.std) for image, theirs in pixels)
    except (KeyError, ValueError):  # such as a crop larger than the image, which processors fill up
        return transform
    return read if same else transform


@dataclass(frozen=True, repr=False)
class ProcessorCall:
    """A Hugging Face image processor as a function of one image."""

    processor: Any

    def __call__(self, image: Any) -> torch.Tensor:
        """Return the pixels of one image."""  # (c, h, w)
        made = self.processor(images=image, return_tensors="pt")
        if "pixel_values" not in made:
            kind = type(self.processor).__name__
            raise ValueError(f"{kind} gives {', '.join(made)}, but no pixel_values; give --size, --mean and --std")
        pixels: torch.Tensor = made["pixel_values"][0]
        return pixels

    def __repr__(self) -> str:
        # by its class, since its own description fills a page
        return f"{type(self.processor).__name__} of transformers"


def _unread_fields(seen: Mapping[str, Any]) -> list[str]:
    odd = [f"{name} {seen[name]}" for name in UNREAD if seen.get(name)]
    if str(seen.get("image_processor_type")).startswith("Levit"):  # resizes to 256/224 of what it says
        odd.append(f"image_processor_type {seen['image_processor_type']}")
    if not seen.get("do_rescale", True) or abs(seen.get("rescale_factor", 1 / 255) - 1 / 255) > 1e-6:
        odd.append(f"rescale_factor {seen.get('rescale_factor')}")
    return odd


def _read_fields(seen: Mapping[str, Any]) -> Preprocess:
    size, crop = seen.get("size") or {}, seen.get("crop_size") or {}
    if not isinstance(size, Mapping) or not {*size} <= {"shortest_edge", "height", "width"}:
        raise ValueError(f"size {size} of an image processor is not known; give --size and --crop, --mean and --std")
    edge = size.get("shortest_edge")
    side: Any = edge or (size["height"], size["width"]) if size and seen.get("do_resize", True) else None
    cut = (crop["height"], crop["width"]) if seen.get("do_center_crop", bool(crop)) and crop else None
    if seen.get("crop_pct") and edge:  # ConvNeXt's own way: large images are squashed, no edge of them is lost
        side, cut = (int(edge / seen["crop_pct"]), (edge, edge)) if edge < WHOLE_FROM else ((edge, edge), cut)
    mean, std = (seen["image_mean"], seen["image_std"]) if seen.get("do_normalize", True) else (None, None)
    names = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # by Pillow's numbers
    return Preprocess(side, cut, mean, std, names[int(seen.get("resample", 2))])


def _slopes() -> list[Pixels]:
    """Return a wide and a tall image, so smooth that two resizings by one filter differ by less than a crop's pixel."""
    down, right = np.mgrid[0:480, 0:640]
    wide = np.stack([down / 480, right / 640, (down + right) / 1120], -1)
    image = (wide * 255).astype(np.uint8)
    return [image, np.ascontiguousarray(image.transpose(1, 0, 2))]


def _is_near(one: torch.Tensor, other: torch.Tensor, std: tuple[float, ...] | None) -> bool:
    if one.shape != other.shape:
        return False
    return float((one - other).abs().max()) * 255 * min(std or (1.0,)) < NEAR
