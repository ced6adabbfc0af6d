"""From stored pixels to what a network reads: colour, size, crop, mean and deviation, in one place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from tent.data.sets.images import Decoded, Pixels

if TYPE_CHECKING:
    from PIL import Image

INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "lanczos", "box", "hamming")
Size = int | tuple[int, int]


@dataclass(frozen=True)
class Preprocess:
    """What is done to an image before a network sees it; every step is left out unless asked for.

    Grey becomes colour by repeating its channel. Resizing is Pillow's, which the published networks were tested with.

    Args:
        size: the length of the shorter side, or (height, width) exactly.
        crop: the side, or (height, width), of the centre that is kept.
        mean: of each channel, on a scale of 0 to 1; subtracted.
        std: of each channel; divided by.
    """

    size: Size | None = None
    crop: Size | None = None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    interpolation: str = "bilinear"

    def __post_init__(self) -> None:
        for name in ("size", "crop"):
            object.__setattr__(self, name, _extent(name, getattr(self, name)))
        for name in ("mean", "std"):
            object.__setattr__(self, name, _channels(name, getattr(self, name)))
        if (self.mean is None) != (self.std is None):
            raise ValueError(f"mean {self.mean} and std {self.std}: give both or neither")
        if self.std is not None and min(self.std) <= 0:
            raise ValueError(f"std {self.std}: every deviation must be above 0")
        if self.interpolation not in INTERPOLATIONS:
            raise ValueError(f"interpolation {self.interpolation!r}: choose one of {', '.join(INTERPOLATIONS)}")

    @property
    def words(self) -> str:
        """This preprocessing in one line of words."""
        steps = []
        if isinstance(self.size, int):
            steps.append(f"shorter side resized to {self.size} ({self.interpolation})")
        elif self.size:
            steps.append(f"resized to {self.size[0]}x{self.size[1]} ({self.interpolation})")
        if self.crop:
            height, width = _pair(self.crop)
            steps.append(f"centre crop {height}x{width}")
        if self.mean is None or self.std is None:
            steps.append("scaled to 0..1")
        else:
            mean, std = (", ".join(f"{value:g}" for value in part) for part in (self.mean, self.std))
            steps.append(f"mean ({mean}), std ({std})")
        return ", ".join(steps)

    def shape(self, image: Decoded) -> Pixels:
        """Return one image, an array (h, w, c) or Pillow's, in colour, resized and cropped, still uint8."""
        now = image.shape[:2] if isinstance(image, np.ndarray) else image.size[::-1]
        if self.size is not None and (to := _target(self.size, now)) != now:
            pixels = _resize(image, to, self.interpolation)
        else:
            pixels = np.asarray(image)
        if self.crop is not None:
            pixels = _crop_centre(pixels, _pair(self.crop))
        return to_colour(pixels)

    def for_cropped(self) -> "Preprocess":
        """Return it for images that are crops already: all of each is seen, at the size that is cropped to."""
        return self if self.crop is None else replace(self, size=_pair(self.crop), crop=None)

    def extent(self, now: tuple[int, int]) -> tuple[int, int]:
        """Return height and width of what an image of this height and width becomes."""
        if self.crop is not None:
            return _pair(self.crop)
        return now if self.size is None else _target(self.size, now)

    @property
    def shaping(self) -> "Preprocess":
        """What of it is done to pixels of 8 bits: size and crop, without mean and deviation."""
        return replace(self, mean=None, std=None)

    @property
    def sees_all(self) -> bool:
        """Whether all of an image is seen, at whatever size."""
        return self.crop is None

    def shape_map(self, labels: Pixels) -> Pixels:
        """Return a label map (h, w) resized and cropped as its image is, by the nearest pixel."""
        if self.size is not None and (to := _target(self.size, labels.shape)) != labels.shape:
            labels = _resize(labels[..., None], to, "nearest")[..., 0]
        return labels if self.crop is None else _crop_centre(labels, _pair(self.crop))

    def scale(self, batch: Pixels) -> torch.Tensor:
        """Return a batch (n, h, w, 3) as float32 (n, 3, h, w): 0 to 1, less the mean, by the deviation."""
        x = torch.from_numpy(np.ascontiguousarray(batch)).permute(0, 3, 1, 2)
        x = x.to(torch.float32, memory_format=torch.contiguous_format).div_(255)
        if self.mean is not None and self.std is not None:
            # the same two operations, in the same order, as the published pipelines: equal to the last bit
            x.sub_(torch.tensor(self.mean).view(1, 3, 1, 1)).div_(torch.tensor(self.std).view(1, 3, 1, 1))
        return x

    def keeps(self, extent: tuple[int, ...] | None) -> bool:
        """Whether images of this height and width, or of any for None, stay as large as they are."""
        if extent is None:
            return self.size is None and self.crop is None
        fits = self.size is None or _target(self.size, extent) == extent
        return fits and (self.crop is None or _pair(self.crop) == extent)

    def __call__(self, images: Pixels | Sequence[Pixels]) -> torch.Tensor:
        """Return float32 (n, 3, h, w) from a batch (n, h, w, c) or from single images (h, w, c)."""
        if isinstance(images, np.ndarray) and self.keeps(images.shape[1:3]):
            return self.scale(to_colour(images))  # at once: image by image, small ones take twice as long
        return self.scale(stack([self.shape(image) for image in images]))


def to_colour(pixels: Pixels) -> Pixels:
    """Return (..., 3): as it is, or the one channel repeated."""
    if pixels.shape[-1] == 3:
        return pixels
    if pixels.shape[-1] != 1:
        raise ValueError(f"images of {pixels.shape[-1]} channels: only 1 (grey) and 3 (colour) are known")
    return np.repeat(pixels, 3, axis=-1)


def stack(images: Sequence[Pixels]) -> Pixels:
    """Return images of one size as one batch."""
    sizes = sorted({image.shape[:2] for image in images})
    if len(sizes) > 1:
        raise ValueError(
            f"one batch has images of {sizes[0][0]}x{sizes[0][1]} and {sizes[-1][0]}x{sizes[-1][1]};"
            " give the preprocessing a size and a crop (--size and --crop)"
        )
    return np.stack(images)


def pillow_image() -> Any:
    """Return Pillow's Image module, or say how to get it."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("reading and resizing images needs Pillow; pip install 'tent-tta[cli]'") from error
    return Image


def _resize(image: Decoded, to: tuple[int, int], interpolation: str) -> Pixels:
    image_module = pillow_image()
    if isinstance(image, np.ndarray):
        grey = image.shape[2] == 1
        image = cast("Image.Image", image_module.fromarray(image[..., 0] if grey else image))
    out: Pixels = np.asarray(image.resize((to[1], to[0]), image_module.Resampling[interpolation.upper()]))
    return out[..., None] if out.ndim == 2 else out


def _target(size: Size, now: tuple[int, ...]) -> tuple[int, int]:
    if not isinstance(size, int):
        return size
    height, width = now
    if height <= width:
        return size, int(size * width / height)
    return int(size * height / width), size


def _crop_centre(pixels: Pixels, crop: tuple[int, int]) -> Pixels:
    height, width = pixels.shape[:2]
    if crop[0] > height or crop[1] > width:
        raise ValueError(f"a crop of {crop[0]}x{crop[1]} from an image of {height}x{width}; resize it larger first")
    top, left = round((height - crop[0]) / 2), round((width - crop[1]) / 2)
    return pixels[top : top + crop[0], left : left + crop[1]]


def _pair(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


def _extent(name: str, value: Size | Sequence[int] | None) -> Size | None:
    if value is None:
        return None
    sides = (value,) if isinstance(value, int) else tuple(value)
    if len(sides) not in (1, 2) or not all(isinstance(side, int) and side > 0 for side in sides):
        raise ValueError(f"{name} {value!r}: give pixels, as one number or as (height, width)")
    return sides[0] if len(sides) == 1 else (sides[0], sides[1])


def _channels(name: str, value: Sequence[float] | None) -> tuple[float, ...] | None:
    if value is None:
        return None
    values = tuple(float(each) for each in value)
    if len(values) != 3:
        raise ValueError(f"{name} {value!r}: give three numbers, one a channel")
    return values


IMAGENET = Preprocess(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))  # its colours, at any size
