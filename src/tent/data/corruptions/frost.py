"""Frost on the window: a frosted pane laid over the picture."""

from pathlib import Path

import numpy as np

from tent.data.corruptions.arrays import Array, Images
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.panes import panes
from tent.data.corruptions.photographs import crops, installed, photographs
from tent.data.corruptions.severities import Constant

MADE = "made"


def frost(images: Images, constant: Constant, draws: Draws, pictures: str | Path | None = None) -> Array:
    """Lay frost over the picture: from a folder of photographs, from `imagecorruptions` if installed, or made."""
    keep, cover, shrink = constant
    height, width = images.shape[1:3]
    folder = installed() if pictures is None else pictures
    if folder is None or folder == MADE:
        layer = panes(draws, height, width, shrink)
    else:
        layer = crops(photographs(Path(folder)), draws, height, width, shrink).astype(np.float64)
    layer *= cover
    layer += keep * images
    layer /= 255
    return np.asarray(layer)
