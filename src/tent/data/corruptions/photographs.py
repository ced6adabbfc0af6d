"""Photographs of frost that the user has: a folder of them, or those of the `imagecorruptions` package."""

import importlib.util
from functools import lru_cache
from pathlib import Path

import numpy as np

from tent.data.corruptions.arrays import Images, mirrored
from tent.data.corruptions.draws import Draws

_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".webp"}


def installed() -> Path | None:
    """Find the frost pictures of the `imagecorruptions` package, without importing it."""
    found = importlib.util.find_spec("imagecorruptions")
    places = found.submodule_search_locations if found else None
    folder = Path(next(iter(places))) / "frost" if places else None
    return folder if folder and folder.is_dir() else None


@lru_cache(maxsize=2)
def photographs(folder: Path) -> tuple[Images, ...]:
    """Read the pictures of a folder, in the order of their names."""
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder of frost pictures at {folder}; name one, or leave frost out for made frost")
    # six are published under these names, of which the published generator draws the first five
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in _ENDINGS and path.stem != "frost6")
    if not files:
        raise FileNotFoundError(f"{folder} holds no picture ({', '.join(sorted(_ENDINGS))}); put frost pictures there")
    try:
        from PIL import Image
    except ImportError as missing:
        raise ImportError("frost pictures need Pillow; install it with: pip install Pillow") from missing
    pictures = []
    for path in files:
        try:
            with Image.open(path) as picture:
                pictures.append(np.asarray(picture.convert("RGB")))
        except OSError as broken:
            raise OSError(f"{path} is not a picture that can be read; replace or remove it") from broken
    return tuple(pictures)


def crops(pictures: tuple[Images, ...], draws: Draws, height: int, width: int, shrink: float) -> Images:
    """Cut a random piece of a random picture for each image; too small a picture is continued by its mirror image."""
    step = int(shrink)
    small = [picture[step // 2 :: step, step // 2 :: step] for picture in pictures]
    chosen = draws.integers((1,), 0, len(small))[:, 0]
    places = draws.uniform((2,))
    out = np.empty((len(chosen), height, width, 3), np.uint8)
    for row, (which, (down, right)) in enumerate(zip(chosen, places, strict=True)):
        picture = small[which]
        top, left = int(down * max(len(picture) - height, 1)), int(right * max(picture.shape[1] - width, 1))
        rows = mirrored(top + np.arange(height), len(picture))
        out[row] = picture[rows][:, mirrored(left + np.arange(width), picture.shape[1])]
    return out
