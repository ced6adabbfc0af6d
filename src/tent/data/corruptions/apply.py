"""One call for every type: check what was asked, choose the constants, and work through the batch in pieces."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from tent.data.corruptions.blur import defocus_blur, gaussian_blur, glass_blur, motion_blur, zoom_blur
from tent.data.corruptions.constants import CONSTANTS, Constant
from tent.data.corruptions.digital import brightness, contrast, elastic_transform, jpeg_compression, pixelate, saturate
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.filters import Array, Images, to_bytes
from tent.data.corruptions.frost import frost as frost_over
from tent.data.corruptions.noise import gaussian_noise, impulse_noise, shot_noise, speckle_noise
from tent.data.corruptions.spatter import spatter
from tent.data.corruptions.weather import fog, snow

Corruption = Callable[[Images, Constant, Draws], Array]

CORRUPTIONS: dict[str, Corruption] = {
    "gaussian_noise": gaussian_noise,
    "shot_noise": shot_noise,
    "impulse_noise": impulse_noise,
    "defocus_blur": defocus_blur,
    "glass_blur": glass_blur,
    "motion_blur": motion_blur,
    "zoom_blur": zoom_blur,
    "snow": snow,
    "frost": frost_over,
    "fog": fog,
    "brightness": brightness,
    "contrast": contrast,
    "elastic_transform": elastic_transform,
    "pixelate": pixelate,
    "jpeg_compression": jpeg_compression,
    "speckle_noise": speckle_noise,
    "gaussian_blur": gaussian_blur,
    "spatter": spatter,
    "saturate": saturate,
}
BENCHMARK: tuple[str, ...] = (  # in the order of the paper's tables
    *("gaussian_noise", "shot_noise", "impulse_noise"),
    *("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    *("snow", "frost", "fog", "brightness"),
    *("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
)
HELD_OUT: tuple[str, ...] = ("speckle_noise", "gaussian_blur", "spatter", "saturate")  # for choosing hyperparameters

# pixels worked on at a time: their arrays stay in the processor's cache, and memory does not grow with the batch
_PIXELS = 1 << 17
# images up to this side get the constants of CIFAR
_SMALL = 64


def corrupt(
    images: Images,
    type: str,
    severity: int,
    *,
    seed: int = 0,
    start: int = 0,
    index: Sequence[int] | Array | None = None,
    constants: Literal["cifar", "imagenet"] | None = None,
    frost: str | Path | None = None,
) -> Images:
    """Corrupt 8-bit images, (n, height, width, 3), by one type at one severity, into a new array.

    Args:
        seed: with the type, the severity and an image's index it settles that image's random draws.
        start: the place in its set of the first image, if the others follow it.
        index: or else the place of each.
        constants: which benchmark's strengths; None takes "cifar" for images up to 64 pixels, else "imagenet".
        frost: a folder of photographs, or "made"; None takes those of `imagecorruptions` if installed, else "made".
    """
    _check(images, type, severity, seed, constants)
    places = _places(len(images), start, index)
    constant = CONSTANTS[constants or _benchmark(images)][type][severity - 1]
    function = CORRUPTIONS[type] if type != "frost" else partial(frost_over, pictures=frost)
    out = np.empty(images.shape, np.uint8)

    def work(part: slice) -> None:
        out[part] = to_bytes(function(images[part], constant, Draws(seed, type, severity, places[part])))

    _run(work, _parts(images))
    return out


def _parts(images: Images) -> list[slice]:
    """Divide the batch into pieces of so many pixels, of one image at least."""
    count = max(1, _PIXELS // (images.shape[1] * images.shape[2]))
    return [slice(first, first + count) for first in range(0, len(images), count)]


def _benchmark(images: Images) -> str:
    """Choose the constants by the size of the images."""
    return "cifar" if max(images.shape[1:3]) <= _SMALL else "imagenet"


def _run(work: Callable[[slice], None], parts: list[slice]) -> None:
    """Do the parts on as many threads as torch may use; no part knows of another, so the number changes nothing."""
    threads = min(torch.get_num_threads(), len(parts))
    if threads < 2:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, part) for part in parts]:
            done.result()


def _check(images: Any, type: str, severity: int, seed: int, constants: str | None) -> None:
    """Refuse what cannot be corrupted, in one line."""
    if not isinstance(images, np.ndarray) or images.dtype != np.uint8:
        kind = images.dtype if isinstance(images, np.ndarray) else images.__class__.__name__
        raise ValueError(f"images must be a numpy array of uint8, not {kind}; scale to 0...255 and convert")
    if images.ndim != 4 or images.shape[3] != 3 or 0 in images.shape[1:]:
        raise ValueError(f"images must have the shape (n, height, width, 3), not {images.shape}")
    if type not in CORRUPTIONS:
        raise ValueError(f"no corruption is called {type!r}; choose one of {', '.join(CORRUPTIONS)}")
    if not _is_integer(severity) or not 1 <= severity <= 5:
        raise ValueError(f"the severity must be a whole number from 1 to 5, not {severity!r}")
    if not _is_integer(seed) or not 0 <= seed < 2**64:
        raise ValueError(f"the seed must be a whole number from 0 to 2**64 - 1, not {seed!r}")
    if constants is not None and constants not in CONSTANTS:
        raise ValueError(f"the constants must be one of {', '.join(CONSTANTS)} or None, not {constants!r}")


def _places(count: int, start: int, index: Sequence[int] | Array | None) -> Sequence[int]:
    """Say which place in its set each image has."""
    if index is None:
        if not _is_integer(start) or start < 0:
            raise ValueError(f"start must be a whole number from 0, not {start!r}")
        return range(int(start), int(start) + count)
    places = np.asarray(index)
    if places.shape != (count,) or (count and (places.dtype.kind not in "iu" or places.min() < 0)):
        raise ValueError(f"index must hold one whole number from 0 for each of the {count} images, not {index!r:.80}")
    return [int(place) for place in places]


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
