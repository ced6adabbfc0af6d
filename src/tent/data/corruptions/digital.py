"""What a camera's settings and a file format do: brightness, contrast, saturation, pixelation and JPEG."""

import io

import numpy as np

from tent.data.corruptions.arrays import Array, Floats, Images, unit
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.severities import Constant


def brightness(images: Images, constant: Constant, draws: Draws) -> Array:
    """Add to the value of HSV; hue and saturation stay, so the three channels keep their ratios."""
    x = unit(images)
    value = x.max(-1, keepdims=True)
    brighter = np.clip(value + constant[0], 0, 1)
    return np.asarray(np.where(value > 0, x * (brighter / np.where(value > 0, value, 1)), brighter))


def contrast(images: Images, constant: Constant, draws: Draws) -> Array:
    """Draw the values towards the mean of their channel."""
    height, width = images.shape[1:3]
    # whole numbers add up exactly, in any order
    mean = images.sum((1, 2), dtype=np.int64, keepdims=True) / (255 * height * width)
    x = unit(images)
    x -= mean
    x *= constant[0]
    x += mean
    return x


def saturate(images: Images, constant: Constant, draws: Draws) -> Array:
    """Scale and shift the saturation of HSV; grey has the hue of red."""
    x = unit(images)
    value = x.max(-1, keepdims=True)
    spread = value - x.min(-1, keepdims=True)
    saturation = spread / np.where(value > 0, value, 1)
    scale, shift = constant
    saturated = np.clip(saturation * scale + shift, 0, 1)
    # the distance to the largest channel, from 0 to 1
    distance = np.where(spread > 0, (value - x) / np.where(spread > 0, spread, 1), np.array([0.0, 1, 1]))
    return np.asarray(value * (1 - saturated * distance))


def jpeg_compression(images: Images, constant: Constant, draws: Draws) -> Images:
    """Write as JPEG of a quality, and read again."""
    try:
        from PIL import Image
    except ImportError as missing:
        raise ImportError("jpeg_compression needs Pillow; install it with: pip install Pillow") from missing
    out = np.empty_like(images)
    for row, image in enumerate(images):
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=int(constant[0]))
        out[row] = np.asarray(Image.open(file))
    return out


def pixelate(images: Images, constant: Constant, draws: Draws) -> Images:
    """Shrink by the mean of boxes, and enlarge by repeating pixels."""
    height, width = images.shape[1:3]
    x: Floats = images.astype(np.float64)
    for rows, columns in ((max(int(height * constant[0]), 1), max(int(width * constant[0]), 1)), (height, width)):
        x = _boxed(_boxed(x, columns, axis=2), rows, axis=1)
    return x.astype(np.uint8)


def _boxed(x: Floats, size: int, axis: int) -> Floats:
    """Bring one axis to a size by boxes, in the whole-number arithmetic of Pillow, which float64 holds exactly."""
    scale = x.shape[axis] / size
    box = max(scale, 1)
    centre = (np.arange(size)[:, None] + 0.5) * scale
    at = np.maximum(centre - box / 2 + 0.5, 0).astype(int) + np.arange(int(box) + 2)
    distance = (at + 0.5 - centre) / box
    inside = (distance > -0.5) & (distance <= 0.5) & (at < x.shape[axis])
    weights = np.floor(inside / inside.sum(1, keepdims=True) * (1 << 22) + 0.5)
    shape = [-1 if k == axis else 1 for k in range(x.ndim)]
    total: Floats = np.full([size if k == axis else side for k, side in enumerate(x.shape)], float(1 << 21))
    for place, weight in zip(np.minimum(at, x.shape[axis] - 1).T, weights.T, strict=True):
        if weight.any():
            total += x.take(place, axis=axis) * weight.reshape(shape)
    total /= 1 << 22
    return np.floor(total)
