"""What a camera's settings and a file format do: brightness, contrast, saturation, elastic, pixelation and JPEG."""

import io

import numpy as np

from tent.data.corruptions.constants import Constant
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.filters import Array, Border, Floats, Images, gaussian, mirror, reflect, to_unit


def brightness(images: Images, constant: Constant, draws: Draws) -> Array:
    """Add to the value of HSV; hue and saturation stay, so the three channels keep their ratios."""
    x = to_unit(images)
    value = x.max(-1, keepdims=True)
    brighter = np.clip(value + constant[0], 0, 1)
    return np.asarray(np.where(value > 0, x * (brighter / np.where(value > 0, value, 1)), brighter))


def contrast(images: Images, constant: Constant, draws: Draws) -> Array:
    """Draw the values towards the mean of their channel."""
    height, width = images.shape[1:3]
    # whole numbers add up exactly, in any order
    mean = images.sum((1, 2), dtype=np.int64, keepdims=True) / (255 * height * width)
    x = to_unit(images)
    x -= mean
    x *= constant[0]
    x += mean
    return x


def saturate(images: Images, constant: Constant, draws: Draws) -> Array:
    """Scale and shift the saturation of HSV; grey has the hue of red."""
    x = to_unit(images)
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
        x = _box_resize(_box_resize(x, columns, axis=2), rows, axis=1)
    return x.astype(np.uint8)


def _box_resize(x: Floats, size: int, axis: int) -> Floats:
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


def elastic_transform(images: Images, constant: Constant, draws: Draws) -> Array:
    """Stretch the picture by an affine map and by waves; lengths are shares of its shorter side."""
    height, width = images.shape[1:3]
    strength, sigma, affine = (share * min(height, width) for share in constant)
    x = to_unit(images, np.float32)
    x = sample_bilinear(x, *_affine(draws, height, width, affine), reflect)
    down, right = (_waves(draws, height, width, strength, sigma) for _ in range(2))
    down += np.arange(height, dtype=np.float32)[:, None]
    right += np.arange(width, dtype=np.float32)
    return sample_bilinear(x, down, right, mirror)


def _affine(draws: Draws, height: int, width: int, reach: float) -> tuple[Floats, Floats]:
    """Draw an affine map by moving three points, and say which place each pixel comes from: rows and columns."""
    side = max(min(height, width) // 3, 1)
    row, column = height // 2, width // 2
    fixed = np.array(
        [(row + side, column + side), (row - side, column + side), (row - side, column - side)], np.float64
    )
    ones = np.ones((len(draws.index), 3, 1))
    shifted = np.concatenate([fixed + draws.uniform((3, 2), -reach, reach), ones], axis=2)
    back = np.linalg.solve(shifted, np.broadcast_to(fixed, (len(ones), 3, 2)))  # (n, 3, 2): from new places to old ones
    rows, columns = np.arange(height)[:, None], np.arange(width)
    places = [
        (back[:, 0, axis, None, None] * rows + back[:, 1, axis, None, None] * columns + back[:, 2, axis, None, None])
        for axis in (0, 1)
    ]
    # three points that almost lie on one line send pixels very far away
    down, right = (np.clip(place, -1e6, 1e6) for place in places)
    return down, right


def _waves(draws: Draws, height: int, width: int, strength: float, sigma: float) -> Floats:
    """Draw a smooth displacement for each pixel."""
    noise = draws.uniform((height, width), -1, 1).astype(np.float64)
    return np.asarray(gaussian(noise, sigma, truncate=3, border=mirror) * strength, np.float32)


def sample_bilinear(x: Array, rows: Floats, columns: Floats, border: Border) -> Array:
    """Read images at places between pixels, bilinearly."""
    n, height, width, _ = x.shape
    above, left = np.floor(rows), np.floor(columns)
    down, right = ((rows - above)[..., None], (columns - left)[..., None])
    down, right = down.astype(x.dtype), right.astype(x.dtype)
    tops = [border(above.astype(np.int64) + k, height) * width for k in (0, 1)]
    sides = [border(left.astype(np.int64) + k, width) for k in (0, 1)]
    pixels = x.reshape(n * height * width, -1)
    first = (np.arange(n) * (height * width))[:, None, None]
    lines = []
    for top in tops:
        low, high = (pixels.take(first + top + side, axis=0) for side in sides)
        lines.append(low + right * (high - low))
    return np.asarray(lines[0] + down * (lines[1] - lines[0]))
