"""Frost on the window: cut from photographs that the user has, or made with their colours, spread and spectrum."""

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist

import numpy as np

from tent.data.corruptions.constants import Constant
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.filters import Array, Floats, Images, mirror

MADE = "made"
_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".webp"}
# of the photographs, shrunk to a fifth: lengths below are in pixels of that size
_SHRINK = 5
# fine grain loses its correlation over about two thirds of a pixel of the shrunk photographs
_GRAIN = 0.75


def frost(images: Images, constant: Constant, draws: Draws, pictures: str | Path | None = None) -> Array:
    """Lay frost over the picture: from a folder of photographs, from `imagecorruptions` if installed, or made."""
    keep, cover, shrink = constant
    height, width = images.shape[1:3]
    folder = find_installed_photographs() if pictures is None else pictures
    if folder is None or folder == MADE:
        layer = panes(draws, height, width, shrink)
    else:
        layer = random_crops(read_photographs(Path(folder)), draws, height, width, shrink).astype(np.float64)
    layer *= cover
    layer += keep * images
    layer /= 255
    return np.asarray(layer)


def find_installed_photographs() -> Path | None:
    """Find the frost pictures of the `imagecorruptions` package, without importing it."""
    found = importlib.util.find_spec("imagecorruptions")
    places = found.submodule_search_locations if found else None
    folder = Path(next(iter(places))) / "frost" if places else None
    return folder if folder and folder.is_dir() else None


def describe_pictures(pictures: str | Path | None = None) -> str:
    """Say what frost is made of: drawn, or photographs by their names and lengths."""
    folder = find_installed_photographs() if pictures is None else pictures
    if folder is None or folder == MADE:
        return "drawn"
    return " ".join(f"{path.name} {path.stat().st_size}" for path in sorted(Path(folder).glob("*")))


@lru_cache(maxsize=2)
def read_photographs(folder: Path) -> tuple[Images, ...]:
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


def random_crops(pictures: tuple[Images, ...], draws: Draws, height: int, width: int, shrink: float) -> Images:
    """Cut a random piece of a random picture for each image; too small a picture is continued by its mirror image."""
    step = int(shrink)
    small = [picture[step // 2 :: step, step // 2 :: step] for picture in pictures]
    chosen = draws.integers((1,), 0, len(small))[:, 0]
    places = draws.uniform((2,))
    out = np.empty((len(chosen), height, width, 3), np.uint8)
    for row, (which, (down, right)) in enumerate(zip(chosen, places, strict=True)):
        picture = small[which]
        top, left = int(down * max(len(picture) - height, 1)), int(right * max(picture.shape[1] - width, 1))
        rows = mirror(top + np.arange(height), len(picture))
        out[row] = picture[rows][:, mirror(left + np.arange(width), picture.shape[1])]
    return out


@dataclass(frozen=True)
class Pane:
    """One kind of frosted window, in 8-bit values; measured on what the published generator lays over images."""

    share: float  # of the images that get this kind
    colour: tuple[float, float, float]
    tint: tuple[float, float, float]  # how far each channel follows a change of brightness
    level: float  # standard deviation of the mean brightness of a crop
    grain: float  # standard deviation of the fine texture
    drift: float  # power of the broad texture at its lowest frequencies
    turn: float  # frequency, in cycles a 32 pixels, from which that power falls
    fall: float  # how steeply


PANES = (  # of crops of the shrunk photographs, as for CIFAR
    Pane(0.205, (99, 110, 122), (1, 1, 1), 11.5, 25.5, 12500, 1.8, 1),
    Pane(0.22, (84, 151.5, 166.5), (1.5, 1, 0.8), 10.5, 8.2, 12500, 1.2, 1.5),
    Pane(0.25, (143, 157, 169), (1, 1, 1), 10.3, 24.2, 15000, 0.75, 1),
    Pane(0.325, (198, 202.5, 211.5), (1, 1, 1), 8.2, 15.3, 9500, 0.75, 1),
)

LARGE_PANES = (  # of crops at the photographs' own size; two of the five are the same picture
    Pane(0.2, (100.5, 112, 124), (1, 1, 1), 12.6, 22.2, 16700, 1.8, 1),
    Pane(0.2, (78, 148.5, 165), (1.7, 1, 0.9), 8.3, 8.4, 17300, 1.2, 1.5),
    Pane(0.2, (144.5, 159, 172), (1, 1, 1), 6.1, 18.2, 33800, 0.75, 1),
    Pane(0.4, (197.5, 202, 211), (1, 1, 1), 6.7, 9.6, 30100, 0.75, 1),
)


def panes(draws: Draws, height: int, width: int, shrink: float) -> Floats:
    """Make one frosted window an image, (n, height, width, 3) in 8-bit values."""
    table = PANES if shrink > 1 else LARGE_PANES
    kind, level = _levels(draws.low_discrepancy(), table)
    rows, columns = height + height // 2, width + width // 2  # the texture meets itself at the ends: keep them apart
    noise = draws.normal((rows, columns))
    spectrum = np.fft.rfft2(noise, axes=(1, 2))
    spectra = np.stack([_amplitude(pane, rows, columns, shrink) for pane in table])
    spectrum *= spectra[kind]
    texture = np.fft.irfft2(spectrum, (rows, columns), axes=(1, 2))[:, :height, :width]
    texture += (level - texture.mean((1, 2)))[:, None, None]
    colour, tint = (np.array([getattr(pane, name) for pane in table])[kind] for name in ("colour", "tint"))
    return np.clip(colour[:, None, None] + tint[:, None, None] * texture[..., None], 0, 255)


def _levels(place: Floats, table: tuple[Pane, ...]) -> tuple[Array, Floats]:
    """Turn an even draw into a kind of pane and how much brighter than its mean it is."""
    ends = np.cumsum([pane.share for pane in table])
    kind = np.minimum(np.searchsorted(ends, place, side="right"), len(table) - 1)
    shares = np.array([pane.share for pane in table])[kind]
    within = np.clip(1 - (ends[kind] - place) / shares, 1e-4, 1 - 1e-4)
    normal = NormalDist()
    return kind, np.array([table[k].level * normal.inv_cdf(at) for k, at in zip(kind, within, strict=True)])


def _amplitude(pane: Pane, rows: int, columns: int, shrink: float) -> Floats:
    """Say by how much each frequency of white noise is raised to become this pane's texture."""
    scale = _SHRINK / shrink
    cycles = np.hypot(np.fft.fftfreq(rows)[:, None], np.fft.rfftfreq(columns)) * scale
    broad = scale**2 * pane.drift / (1 + (32 * cycles / pane.turn) ** 2) ** pane.fall / (1 + (2 * cycles) ** 2)
    fine = (1 + (cycles / _GRAIN) ** 2) ** -1.5
    power = broad + pane.grain**2 * fine / fine.mean()
    power[0, 0] = 0  # the mean is drawn apart
    return np.asarray(np.sqrt(power))
