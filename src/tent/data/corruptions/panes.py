"""Frost without photographs: random textures with the colours, the spread and the spectrum of five frosted windows."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from tent.data.corruptions.arrays import Array, Floats
from tent.data.corruptions.draws import Draws

# of the photographs, shrunk to a fifth: lengths below are in pixels of that size
_SHRINK = 5
# fine grain loses its correlation over about two thirds of a pixel of the shrunk photographs
_GRAIN = 0.75


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


PANES = (
    Pane(0.205, (99, 110, 122), (1, 1, 1), 11.5, 25.5, 12500, 1.8, 1),
    Pane(0.22, (84, 151.5, 166.5), (1.5, 1, 0.8), 10.5, 8.2, 12500, 1.2, 1.5),
    Pane(0.25, (143, 157, 169), (1, 1, 1), 10.3, 24.2, 15000, 0.75, 1),
    Pane(0.325, (198, 202.5, 211.5), (1, 1, 1), 8.2, 15.3, 9500, 0.75, 1),
)


def panes(draws: Draws, height: int, width: int, shrink: float) -> Floats:
    """Make one frosted window an image, (n, height, width, 3) in 8-bit values."""
    kind, level = _levels(draws.spread())
    rows, columns = height + height // 2, width + width // 2  # the texture meets itself at the ends: keep them apart
    noise = draws.normal((rows, columns))
    spectrum = np.fft.rfft2(noise, axes=(1, 2))
    spectra = np.stack([_amplitude(pane, rows, columns, shrink) for pane in PANES])
    spectrum *= spectra[kind]
    texture = np.fft.irfft2(spectrum, (rows, columns), axes=(1, 2))[:, :height, :width]
    texture += (level - texture.mean((1, 2)))[:, None, None]
    colour, tint = (np.array([getattr(pane, name) for pane in PANES])[kind] for name in ("colour", "tint"))
    return np.clip(colour[:, None, None] + tint[:, None, None] * texture[..., None], 0, 255)


def _levels(place: Floats) -> tuple[Array, Floats]:
    """Turn an even draw into a kind of pane and how much brighter than its mean it is."""
    ends = np.cumsum([pane.share for pane in PANES])
    kind = np.minimum(np.searchsorted(ends, place, side="right"), len(PANES) - 1)
    shares = np.array([pane.share for pane in PANES])[kind]
    within = np.clip(1 - (ends[kind] - place) / shares, 1e-4, 1 - 1e-4)
    normal = NormalDist()
    return kind, np.array([PANES[k].level * normal.inv_cdf(at) for k, at in zip(kind, within, strict=True)])


def _amplitude(pane: Pane, rows: int, columns: int, shrink: float) -> Floats:
    """Say by how much each frequency of white noise is raised to become this pane's texture."""
    scale = _SHRINK / shrink
    cycles = np.hypot(np.fft.fftfreq(rows)[:, None], np.fft.rfftfreq(columns)) * scale
    broad = scale**2 * pane.drift / (1 + (32 * cycles / pane.turn) ** 2) ** pane.fall / (1 + (2 * cycles) ** 2)
    fine = (1 + (cycles / _GRAIN) ** 2) ** -1.5
    power = broad + pane.grain**2 * fine / fine.mean()
    power[0, 0] = 0  # the mean is drawn apart
    return np.asarray(np.sqrt(power))
