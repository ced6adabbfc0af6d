"""The colours of classes in label maps: Cityscapes' own where a class has a name there, else colours well apart."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tent.data.segments.class_map import CITYSCAPES_IDS, CITYSCAPES_NAMES, IGNORE
from tent.data.segments.label_maps import Colours, Map
from tent.data.sets.images import Pixels

NAMED = {
    "road": (128, 64, 128),
    "sidewalk": (244, 35, 232),
    "pavement": (244, 35, 232),
    "building": (70, 70, 70),
    "wall": (102, 102, 156),
    "fence": (190, 153, 153),
    "pole": (153, 153, 153),
    "traffic light": (250, 170, 30),
    "traffic sign": (220, 220, 0),
    "sign": (220, 220, 0),
    "vegetation": (107, 142, 35),
    "tree": (107, 142, 35),
    "terrain": (152, 251, 152),
    "sky": (70, 130, 180),
    "person": (220, 20, 60),
    "pedestrian": (220, 20, 60),
    "rider": (255, 0, 0),
    "cyclist": (255, 0, 0),
    "car": (0, 0, 142),
    "truck": (0, 0, 70),
    "bus": (0, 60, 100),
    "train": (0, 80, 100),
    "motorcycle": (0, 0, 230),
    "bicycle": (119, 11, 32),
}
CITYSCAPES_COLOURS: Colours = {id_: NAMED[name] for id_, name in zip(CITYSCAPES_IDS, CITYSCAPES_NAMES, strict=True)}


def palette(names: Sequence[str]) -> NDArray[np.uint8]:
    """Return a colour for each of 256 labels; those beyond the classes are black."""
    colours = np.zeros((256, 3), dtype=np.uint8)
    for place, name in enumerate(names[:IGNORE]):
        colours[place] = NAMED.get(name.lower(), _spread(place))
    return colours


def paint(labels: Map, colours: NDArray[np.uint8]) -> Pixels:
    """Return a label map in its colours, (h, w, 3)."""
    painted: Pixels = colours[labels]
    return painted


def overlay(image: Pixels, labels: Map, colours: NDArray[np.uint8], share: float = 0.5) -> Pixels:
    """Return an image with the colours of its labels laid over it."""
    mixed = image * (1 - share) + paint(labels, colours) * share
    return mixed.round().astype(np.uint8)


def _spread(place: int) -> tuple[int, int, int]:
    """Return a colour by the bits of a number, as PASCAL VOC's are: the lowest bits weigh most."""
    colour, left = [0, 0, 0], place + 1
    for bit in range(7, -1, -1):
        for channel in range(3):
            colour[channel] |= ((left >> channel) & 1) << bit
        left >>= 3
    return colour[0], colour[1], colour[2]
